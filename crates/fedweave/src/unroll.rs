//! Rows are short and equally long. Where their length is known to the compiler, loops over a row become straight code on
//! registers, several times faster than a loop over a slice; the arithmetic and its order stay the same.

/// Calls `f::<D>(arguments)` with `D` the length of a row, or 0 where there is no special version for it.
macro_rules! by_dim {
    ($d:expr, $f:ident($($argument:expr),* $(,)?)) => {
        match $d {
            1 => $f::<1>($($argument),*),
            2 => $f::<2>($($argument),*),
            3 => $f::<3>($($argument),*),
            4 => $f::<4>($($argument),*),
            5 => $f::<5>($($argument),*),
            6 => $f::<6>($($argument),*),
            7 => $f::<7>($($argument),*),
            8 => $f::<8>($($argument),*),
            9 => $f::<9>($($argument),*),
            10 => $f::<10>($($argument),*),
            11 => $f::<11>($($argument),*),
            12 => $f::<12>($($argument),*),
            _ => $f::<0>($($argument),*),
        }
    };
}

pub(crate) use by_dim;

/// The length of a row: `D` if that is known, otherwise `d`.
#[inline(always)]
pub const fn known<const D: usize>(d: usize) -> usize {
    if D > 0 { D } else { d }
}
