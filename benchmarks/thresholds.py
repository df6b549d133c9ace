"""How accurate all r-of-k thresholds of Adult are: planned, and with independent noise.

    python -m benchmarks.thresholds

prints the root mean square error at privacy cost 1 of the best plan, how far it is above what no mechanism can beat,
and that of independent noise whose scale follows from the joint sensitivity of all queries together, or from each query
by itself, as mechanisms for such queries have been published.
Source: eqs. (58), (59) and (61).
"""

import itertools
import math

import residualplanner as rp
from benchmarks.figures import domain_of
from benchmarks.published import DOMAINS
from residualplanner.more.queries.thresholds import threshold_count

#: Of the best plan, by k and r, as the specification has them.
RMSE = {
    (2, 1): 10.3735,
    (2, 2): 6.3587,
    (3, 1): 25.5856,
    (3, 2): 30.5078,
    (3, 3): 10.5153,
    (4, 1): 54.1431,
    (4, 2): 94.3935,
    (4, 3): 60.4952,
    (4, 4): 14.6558,
}


def main() -> None:
    """Print the table."""
    sizes = DOMAINS["Adult"]
    domain = domain_of(sizes)
    print(f"{'r-of-k':>8} {'queries':>15} {'planned':>9} {'above bound':>12} {'joint':>10} {'one by one':>11}")
    for order, at_least in RMSE:
        workload = rp.marginals(domain, order=order, at_least=at_least)
        plan = rp.select(workload, budget=rp.pcost(1))
        joint = math.sqrt(sum(threshold_count(part, at_least) for part in itertools.combinations(sizes, order)))
        cells = int(workload.cells.sum())
        gap, alone = plan.suboptimality, math.sqrt(cells)
        print(f"{at_least}-of-{order:<3} {cells:>15,} {plan.rmse:>9.4f} {gap:>12.1e} {joint:>10.3f} {alone:>11.1f}")


if __name__ == "__main__":
    main()
