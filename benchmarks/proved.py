"""How far plans by default are from the best of all mechanisms: errors over the singular value bound (33).

``python -m benchmarks.proved`` prints them for the schemas of CPS, Loans and Adult, with prefix sums or ranges of the
numerical attributes: in all tables of one, of two, and of one and two attributes, and in tables of one attribute beside
the counts of all pairs, for which bases by set are planned, too.
"""

import math
import time

import residualplanner as rp
from benchmarks.figures import domain_of
from benchmarks.published import DOMAINS

NUMERICAL = {"CPS": 2, "Loans": 4, "Adult": 5}


def main() -> None:
    print(
        f"{'schema':<8}{'kind':<8}{'tables of':<20}{'bound':>9}{'rmse':>9}{'above':>8}{'by set':>8}{'bound took':>12}"
    )
    for schema, sizes in DOMAINS.items():
        domain = domain_of(sizes)
        for kind in (rp.Prefix(), rp.Range()):
            kinds = dict.fromkeys(domain.names[: NUMERICAL[schema]], kind)
            workloads = {
                "1": rp.marginals(domain, order=1, kinds=kinds),
                "2": rp.marginals(domain, order=2, kinds=kinds),
                "1 and 2": rp.marginals(domain, up_to=2, kinds=kinds),
                "1, pairs in counts": rp.Workload(
                    domain, [*({name: kind} for name in kinds), *rp.marginals(domain, order=2)]
                ),
            }
            for name, workload in workloads.items():
                start = time.perf_counter()
                bound = math.sqrt(rp.losses.svd_bound(workload) / float(workload.cells.sum()))
                seconds = time.perf_counter() - start
                rmse = rp.select(workload, budget=rp.pcost(1)).rmse
                by_set = ""
                if "pairs" in name:
                    best = rp.select(workload, budget=rp.pcost(1), bases="optimal_by_set").rmse
                    by_set = f"{best / bound - 1:.2%}"
                print(
                    f"{schema:<8}{kind.name:<8}{name:<20}{bound:>9.4f}{rmse:>9.4f}{rmse / bound - 1:>8.2%}{by_set:>8}"
                    f"{seconds:>10.1f} s",
                    flush=True,
                )


if __name__ == "__main__":
    main()
