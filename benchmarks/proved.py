"""How far plans by default are proved to be from the best of all mechanisms, and how long that takes.

``python -m benchmarks.proved`` prints it for the schemas of CPS, Loans and Adult, with prefix sums or ranges of the
numerical attributes: in all tables of one, of two, and of one and two attributes, and in tables of one attribute beside
the counts of all pairs.
"""

import time

import residualplanner as rp
from benchmarks.figures import domain_of
from benchmarks.published import DOMAINS

NUMERICAL = {"CPS": 2, "Loans": 4, "Adult": 5}


def main() -> None:
    print(f"{'schema':<8}{'kind':<8}{'tables of':<20}{'shared':>9}{'default':>9}{'proved':>8}{'CPU seconds':>15}")
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
                start = time.process_time()
                shared = rp.select(workload, budget=rp.pcost(1), bases="optimal", time=0)
                middle = time.process_time()
                plan = rp.select(workload, budget=rp.pcost(1))
                seconds = f"{middle - start:.1f} and {time.process_time() - middle:.1f}"
                print(
                    f"{schema:<8}{kind.name:<8}{name:<20}{shared.rmse:>9.4f}{plan.rmse:>9.4f}{plan.suboptimality:>8.2%}"
                    f"{seconds:>15}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
