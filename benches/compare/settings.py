"""The best settings found by hand for every competitor and problem; what is not named here runs with its defaults.

`threads` is the number of threads of linear algebra, where one is faster than all.
"""
BEST = {
    "chambolle_pock": {
        "nl_n10000_d10": {"ratio": 0.03}, "nl_n30000_d10": {"ratio": 0.03}, "tableI": {"ratio": 10.0},
    },
    "admm_network_lasso": {"tableI": {"rho": 0.1}},
    "admm_sparse": {"chain_n2000_d5": {"rho": 10.0}},
    "fused": {"nl_n1000_d10": {"ratio": 0.1, "chunk": 100}, "nl_n3000_d10": {"ratio": 0.1}},
}


def of(competitor, problem):
    return dict(BEST.get(competitor, {}).get(problem, {}))
