"""The best settings found by hand for every competitor and problem; what is not named here runs with its defaults.

`threads` is the number of threads of linear algebra where one is faster than all: the numpy methods multiply many small
matrices, which threads only slow down.
"""
ALWAYS = {
    "chambolle_pock": {"threads": 1},
    "admm_network_lasso": {"threads": 1, "rho": 10.0},
    "admm_sparse": {"threads": 1},
    "newton_al": {"threads": 1},
    "fused": {"threads": 1},
}
BEST = {
    "chambolle_pock": {
        "nl_n1000_d10": {"ratio": 0.05}, "nl_n3000_d10": {"ratio": 0.05}, "nl_n10000_d10": {"ratio": 0.03},
        "nl_n30000_d10": {"ratio": 0.03}, "tableI": {"ratio": 10.0}, "cc_n1000_d2": {"ratio": 0.3},
        "logit_n1000_d5": {"ratio": 3.0}, "sq_n3000_d10": {"ratio": 0.3}, "sq_n10000_d10": {"ratio": 0.3},
        "wide_n200_d500": {"ratio": 8.0, "every": 50}, "wide_n200_d2000": {"ratio": 8.0, "every": 50},
    },
    "admm_network_lasso": {
        "tableI": {"rho": 0.1}, "logit_n1000_d5": {"rho": 0.1}, "cc_n1000_d2": {"rho": 1.0},
    },
    "admm_sparse": {
        "nl_n1000_d10": {"rho": 10.0}, "nl_n3000_d10": {"rho": 10.0}, "nl_n10000_d10": {"rho": 10.0},
        "chain_n2000_d5": {"rho": 10.0},
    },
    "newton_al": {
        "nl_n1000_d10": {"sigma": 10.0}, "nl_n3000_d10": {"sigma": 10.0}, "nl_n10000_d10": {"sigma": 10.0},
        "tableI": {"sigma": 0.1}, "chain_n2000_d5": {"sigma": 10.0},
    },
    "fused": {
        "nl_n1000_d10": {"ratio": 0.1, "chunk": 400}, "nl_n3000_d10": {"ratio": 0.1, "chunk": 600},
        "nl_n10000_d10": {"ratio": 0.03, "chunk": 900}, "tableI": {"ratio": 10.0, "chunk": 200},
        "chain_n2000_d5": {"ratio": 0.1, "chunk": 150}, "cc_n1000_d2": {"chunk": 300},
        "logit_n1000_d5": {"ratio": 5.0, "chunk": 300},
    },
}


def of(competitor, problem):
    return ALWAYS.get(competitor, {}) | BEST.get(competitor, {}).get(problem, {})
