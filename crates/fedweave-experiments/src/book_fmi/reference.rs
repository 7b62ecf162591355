//! The numbers of the reference notebooks, and of an independent recomputation where the notebooks print none.

/// A run of FedGD on the hourly rows with what it should give; NaN where nothing is known.
pub struct HourlyFedGd {
    /// Its name in the reference.
    pub entry: &'static str,
    /// Which rows train.
    pub split: &'static str,
    /// Neighbours of a station.
    pub k: usize,
    /// Error on training rows.
    pub train: f64,
    /// Error on validation rows.
    pub validation: f64,
    /// Sum of squared distances over edges.
    pub variation: f64,
    /// Weights of node 0.
    pub node_0: &'static [f64],
    /// Weights of node 100.
    pub node_100: &'static [f64],
    /// How near the numbers must be, relatively.
    pub tolerance: f64,
}

/// h-fedgd-k3 and h-fedgd-var1.
pub const HOURLY_FEDGD: [HourlyFedGd; 3] = [
    HourlyFedGd {
        entry: "h-fedgd-k3",
        split: "rs1",
        k: 3,
        train: 21.065277715408104,
        validation: 21.336245897848386,
        variation: f64::NAN,
        node_0: &[],
        node_100: &[],
        tolerance: 1e-9,
    },
    HourlyFedGd {
        entry: "h-fedgd-var1, split rs1",
        split: "rs1",
        k: 4,
        train: 21.441815037069418,
        validation: 21.627759928773767,
        variation: 492.8491284091921,
        node_0: &[
            -7.742613375697167,
            -3.2507891677982546,
            -12.047276856004652,
            7.851930679540555,
            -5.0344655795093765,
            -0.32982433332815986,
            0.0,
        ],
        node_100: &[
            -8.2889396018167,
            -3.3168656080187087,
            -12.61329654810609,
            14.82884063958404,
            -3.1341970810882906,
            -1.4023945198372143,
            0.0,
        ],
        tolerance: 1e-8,
    },
    HourlyFedGd {
        entry: "h-fedgd-var1, split rs4740",
        split: "rs4740",
        k: 4,
        train: 21.443502428723,
        validation: 21.813594826459045,
        variation: 474.83979184845634,
        node_0: &[
            -7.757221836987453,
            -3.234394089827817,
            -12.072891482859875,
            7.89973133317554,
            -5.060868367981993,
            -0.6548718871612965,
            0.0,
        ],
        node_100: &[
            -8.23475138971469,
            -3.291111571437704,
            -12.525020491240504,
            14.822952383625958,
            -3.184747464066404,
            -1.2041298300821943,
            0.0,
        ],
        tolerance: 1e-8,
    },
];

/// d-fedgd: weights of node 82.
pub const FEDGD_DAILY_82: [f64; 10] = [
    0.14464378350062432,
    -0.5305328623469278,
    0.02834970009548385,
    -0.4232339087237437,
    -0.034711967944582964,
    0.3690818537217437,
    -0.35829518346475214,
    0.12372994408593309,
    0.49749202489434885,
    0.15088997793969636,
];

/// Minimisers of the daily problem.
pub struct ClosedForm {
    /// `lambda`.
    pub alpha: f64,
    /// Error on training rows.
    pub train: f64,
    /// Error on validation rows.
    pub validation: f64,
    /// Sum of squared distances over edges.
    pub variation: f64,
    /// `F(w)`.
    pub objective: f64,
    /// Weights of node 0.
    pub node_0: [f64; 10],
    /// Weights of node 82.
    pub node_82: [f64; 10],
}

/// d-closed-1.
pub const CLOSED_FORM: [ClosedForm; 2] = [
    ClosedForm {
        alpha: 1.0,
        train: 0.6347558666907731,
        validation: 50.72157392885481,
        variation: 71.71368245851207,
        objective: 193.5868088631405,
        node_0: [
            -0.5800698139771123,
            -0.1624513054873679,
            0.5312381079271851,
            -0.015025491290918421,
            1.0716835028805298,
            -0.21743168494591503,
            0.35289272301238817,
            -0.2939485655529696,
            0.05060222774823674,
            -0.25872230532890994,
        ],
        node_82: [
            -0.5484786296702494,
            0.11480623926245617,
            0.6090625883681055,
            -1.3187251981133508,
            1.1939689853958395,
            -0.08607669911822612,
            -0.09905227219477519,
            0.12230913724793951,
            0.016042514076024788,
            0.61862131571947,
        ],
    },
    ClosedForm {
        alpha: 10.0,
        train: 1.541961559825146,
        validation: 44.009429318020274,
        variation: 10.899420094704798,
        objective: 405.050820433476,
        node_0: [
            -0.29539877400944087,
            0.12357652580010159,
            0.1754414012216754,
            0.014267857439708072,
            0.9582424308463414,
            -0.15171223424181357,
            0.2563567600652513,
            -0.33865851120662943,
            0.07791572806664313,
            -0.2764725318679178,
        ],
        node_82: [
            -0.5188969484108831,
            0.1253832484653455,
            0.47709048349455674,
            -1.1304113724196612,
            1.0695660118811707,
            -0.12171118276516266,
            -0.0203782052343927,
            0.1257996768307353,
            -0.055767958102486,
            0.6369843751847489,
        ],
    },
];
