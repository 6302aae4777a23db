#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The statistics of src/stats beside others that share nothing with them.

  stats_oracle.py STATS_CASES

numpy and scipy where they have the method; else its definition, written out and slow: choices
enumerated, resamples enumerated, the dip as a linear program, energies as double sums. Then the
samples of benchstat, MongoDB, Otava and MLPerf, where they are there (TC_SAMPLES).
"""
import functools
import itertools
import json
import math
import os
import pathlib
import re
import subprocess
import sys

DEBIAN = "/usr/bin/python3"
try:
    import numpy as np
    from scipy import optimize, stats
except ImportError:
    # Debian's scipy is Debian's Python's; another may come first on PATH.
    if sys.executable != DEBIAN and os.access(DEBIAN, os.X_OK):
        os.execv(DEBIAN, [DEBIAN, "-B", *sys.argv])
    print("skipped: no scipy (Debian: python3-scipy)")
    sys.exit(77)

SEED = 20261117
METHODS = ("none", "exact", "ties", "normal")
FLAGS = ("ok", "few", "unbounded", "signs", "zero")


def listed(values):
    return f"{len(values)} " + " ".join(repr(float(v)) for v in values)


class Cases:
    """Cases with what to check of their answers, all asked at once."""

    def __init__(self, program):
        self.program = program
        self.asked = []
        self.problems = []

    def ask(self, text, check):
        self.asked.append((text, check))

    def run(self):
        done = subprocess.run([self.program], input="".join(f"{t}\n" for t, _ in self.asked),
                              text=True, capture_output=True, check=False, timeout=250)
        answers = done.stdout.splitlines()
        if done.returncode != 0 or len(answers) != len(self.asked):
            sys.exit(f"{len(self.asked)} cases, {len(answers)} answers: {done.stderr[-2000:]}")
        for (text, check), answer in zip(self.asked, answers):
            if answer == "refused":
                said = None if check is None else "it was refused"
            elif check is None:
                said = "it was not refused"
            else:
                said = check([float(word) for word in answer.split()])
            if said:
                self.problems.append(f"{text[:300]}\n  {answer[:200]}\n  {said}")


def differs(got, wanted, names, tolerance=1e-9):
    """What differs, in words; NaN equals NaN."""
    for name, a, b in zip(names, got, wanted):
        if not (math.isnan(a) and math.isnan(b)) and not (
                a == b or abs(a - b) <= tolerance * max(abs(a), abs(b))):
            return f"{name} is {a!r}, not {b!r}"
    return None if len(got) == len(wanted) else f"{len(got)} numbers, not {len(wanted)}"


# ---- samples ----------------------------------------------------------------------------------

def samples(rng, n):
    """Samples of n values, ordinary and odd."""
    yield rng.normal(size=n)
    yield rng.lognormal(3, 1, n)
    yield rng.integers(0, 5, n)
    yield np.round(rng.normal(10, 1, n), 1)
    yield rng.exponential(size=n) * 1e300
    yield rng.random(n) * 1e-310
    yield np.full(n, 3.25)
    yield np.where(np.arange(n) == 0, 1e9, rng.normal(size=n))


# ---- order ------------------------------------------------------------------------------------

@functools.lru_cache(maxsize=None)
def tails_of(n):
    """P(Binomial(n, 1/2) <= k) for all k."""
    return stats.binom.cdf(np.arange(n + 1), n, 0.5)


def wanted_order(x, level):
    x = np.sort(np.asarray(x, float))
    n = len(x)
    k = 0
    tails = tails_of(n)
    while 2 * (k + 1) < n and 1 - 2 * tails[k + 1] >= level - 1e-12:
        k += 1
    median = np.median(x)
    distances = np.abs(x - median)
    mad = np.median(distances)
    scale = mad * 1.482602218505602 if mad > 0 else np.mean(distances) * math.sqrt(math.pi / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(distances == 0, 0, distances / scale)
    return [median, x[k], x[n - 1 - k], max(0, 1 - 2 * tails[k]), mad, scale,
            np.quantile(x, 0.1), np.quantile(x, 0.9), np.sum(z > 3.5)]


def check_order(cases, rng):
    names = "median low high level mad scale q10 q90 outliers".split()
    for n in [*range(1, 30), 100, 1001]:
        for x in samples(rng, n):
            for level in (0.5, 0.95, 0.99):
                wanted = wanted_order(x, level)
                cases.ask(f"order {level} {listed(x)}",
                          lambda got, wanted=wanted: differs(got, wanted, names))
    for bad in ("nan", "inf", "-inf"):
        cases.ask(f"order 0.95 3 1 {bad} 2", None)


# ---- two samples ------------------------------------------------------------------------------

def pairs_won(base, candidate):
    return float(np.sum(np.greater.outer(candidate, base)) +
                 np.sum(np.equal.outer(candidate, base)) / 2)


def p_by_enumeration(base, candidate):
    """Twice the smaller tail of U over all choices of which values are the candidate's."""
    values = np.concatenate([base, candidate])
    everything = range(len(values))
    observed = pairs_won(base, candidate)
    low = high = count = 0
    for choice in itertools.combinations(everything, len(candidate)):
        chosen = np.zeros(len(values), bool)
        chosen[list(choice)] = True
        u = pairs_won(values[~chosen], values[chosen])
        low += u <= observed
        high += u >= observed
        count += 1
    return min(1, 2 * min(low, high) / count)


@functools.lru_cache(maxsize=None)
def choices_by_rank_sum(n, m):
    """How many choices of n of n + m ranks have each sum: rank by rank."""
    counts = np.zeros((n + 1, n * (n + m) + 1))
    counts[0, 0] = 1
    for rank in range(1, n + m + 1):
        counts[1:, rank:] = counts[1:, rank:] + counts[:-1, :-rank]
    return counts[n]


def p_by_rank_sums(one, other):
    few, many = sorted((one, other), key=len)
    n, m = len(few), len(many)
    at = int(stats.rankdata(np.concatenate([few, many]))[:n].sum())
    counts = choices_by_rank_sum(n, m)
    return min(1, 2 * min(counts[:at + 1].sum(), counts[at:].sum()) / math.comb(n + m, n))


def check_rank(cases, rng):
    def ask(base, candidate, p, method, tolerance):
        u = pairs_won(base, candidate)
        delta = 2 * u / (len(base) * len(candidate)) - 1
        wanted = [u, p, delta, METHODS.index(method)]
        cases.ask(f"rank {listed(base)} {listed(candidate)}",
                  lambda got: differs(got[:3], wanted[:3], ("u", "p", "delta"), tolerance)
                  or differs(got[3:], wanted[3:], ["method"]))

    for trial in range(600):  # without ties; scipy takes long where there are many values
        n, m = rng.integers(1, 9 if trial < 150 else 29, 2)
        x, y = rng.normal(size=n), rng.normal(rng.choice([0, 0.5, 2]), 1, m)
        p = (stats.mannwhitneyu(x, y, method="exact").pvalue if trial < 150
             else p_by_rank_sums(x, y))
        ask(x, y, p, "exact", 1e-9)
    for n, m in ((3, 800), (8, 150), (1, 2000)):
        x, y = rng.normal(size=n), rng.normal(1, 1, m)
        ask(x, y, p_by_rank_sums(x, y), "exact", 1e-9)
    for _ in range(60):  # with ties, few enough to go through all choices
        n, m = rng.integers(1, 6, 2)
        x, y = rng.integers(0, 4, n).astype(float), rng.integers(0, 5, m).astype(float)
        values = np.concatenate([x, y])
        tied = len(np.unique(values)) < len(values)
        ask(x, y, p_by_enumeration(x, y), "ties" if tied else "exact", 1e-9)
    for _ in range(300):  # many
        n, m = rng.integers(30, 200, 2)
        x, y = rng.normal(size=n), rng.normal(rng.choice([0, 0.2, 1]), 1, m)
        if rng.random() < 0.7:
            x, y = np.round(x, 1), np.round(y, 1)
        p = stats.mannwhitneyu(x, y, method="asymptotic", use_continuity=True).pvalue
        ask(x, y, p, "normal", 1e-8)
    for alpha in (0.5, 0.1, 0.05, 0.01, 0.001, 1e-9):
        least = next(k for k in itertools.count(1) if 2 / math.comb(2 * k, k) <= alpha)
        for n, m in ((1, 1), (3, 3), (4, 9), (40, 60)):
            wanted = [least, min(1, 2 / math.comb(n + m, n))]
            cases.ask(f"least {alpha} {n} {m}",
                      lambda got, wanted=wanted: differs(got, wanted, ("n", "p")))


def medians_of_resamples(x):
    """The median of every resample, each as likely as another."""
    return np.median(np.array(list(itertools.product(x, repeat=len(x)))), axis=1)


def check_ratio(cases, rng):
    """The ends of the interval are quantiles of all resamples, as near as 10,000 draws come."""
    def check(got, ratios, level):
        tail = (1 - level) / 2
        slack = 4 * math.sqrt(tail * (1 - tail) / 10000) + 1e-4
        below, upto = np.mean(ratios < got[1] * (1 - 1e-12)), np.mean(ratios <= got[1] * (1 + 1e-12))
        if below > tail + slack or upto < tail - slack:
            return f"below the low end are {below:.4f} to {upto:.4f}"
        above, from_ = np.mean(ratios > got[2] * (1 + 1e-12)), np.mean(ratios >= got[2] * (1 - 1e-12))
        if above > tail + slack or from_ < tail - slack:
            return f"above the high end are {above:.4f} to {from_:.4f}"
        return None

    for trial in range(30):
        n, m = rng.integers(3, 6, 2)
        x, y = rng.lognormal(0, 0.5, n), rng.lognormal(0.5, 0.5, m)
        ratios = np.divide.outer(medians_of_resamples(y), medians_of_resamples(x)).ravel()
        level = rng.choice([0.5, 0.8, 0.95])
        wanted = [np.median(y) / np.median(x), FLAGS.index("ok")]
        cases.ask(f"ratio {level} {trial} {listed(x)} {listed(y)}",
                  lambda got, wanted=wanted, ratios=ratios, level=level:
                  differs([got[0], got[3]], wanted, ("ratio", "flag"))
                  or check(got, ratios, level))


def check_adjust(cases, rng):
    for _ in range(400):
        n = int(rng.integers(1, 30))
        p = rng.random(n) ** rng.choice([1, 4])
        if rng.random() < 0.3:
            p = np.round(p, 1)
        missing = rng.random(n) < 0.2
        there = p[~missing]
        m = len(there)
        # The definition: the least over all larger p of p m / rank.
        scaled = {q: q * m / sum(other <= q for other in there) for q in there}
        adjusted = np.array([min([1] + [scaled[q] for q in there if q >= v]) for v in there])
        wanted = np.full(n, math.nan)
        wanted[~missing] = adjusted
        cases.ask(f"adjust {listed(np.where(missing, math.nan, p))}",
                  lambda got, wanted=wanted: differs(got, wanted, ["p"] * len(wanted)))
    for bad in ("-0.1", "1.1", "inf"):
        cases.ask(f"adjust 2 0.5 {bad}", None)


# ---- the dip, as a linear program --------------------------------------------------------------

def least_distance(z, below, upto, mode):
    """
    The least distance of a distribution function with its mode at z[mode] from one that steps from
    below[k] to upto[k] at z[k]. Unknown: its heights at z, a second one right of its mode, and the
    distance.
    """
    count = len(z)
    rows, bounds = [], []

    def add(entries, bound):
        row = np.zeros(count + 2)
        for at, factor in entries:
            row[at] += factor
        rows.append(row)
        bounds.append(bound)

    for k in range(count):
        for at, height in ((k, below[k]), (count if k == mode else k, upto[k])):
            add([(at, 1), (count + 1, -1)], height)
            add([(at, -1), (count + 1, -1)], -height)
    left = list(range(mode + 1))
    right = [count, *range(mode + 1, count)]
    add([(mode, 1), (count, -1)], 0)
    for points, xs, sign in ((left, z[:mode + 1], 1), (right, z[mode:], -1)):
        for a, b in zip(points, points[1:]):
            add([(a, 1), (b, -1)], 0)
        for i in range(len(points) - 2):
            a, b, c = points[i:i + 3]
            first, second = xs[i + 1] - xs[i], xs[i + 2] - xs[i + 1]
            add([(b, sign / first), (a, -sign / first), (c, -sign / second), (b, sign / second)], 0)
    goal = np.zeros(count + 2)
    goal[-1] = 1
    done = optimize.linprog(goal, A_ub=np.array(rows), b_ub=bounds, bounds=(0, 1), method="highs")
    return done.fun if done.status == 0 else math.inf


def dip_by_programs(x):
    z, counts = np.unique(np.asarray(x, float), return_counts=True)
    upto = np.cumsum(counts) / len(x)
    below = upto - counts / len(x)
    z = (z - z[0]) / (z[-1] - z[0])
    return max(1 / (2 * len(x)), min(least_distance(z, below, upto, k) for k in range(len(z))))


def spread_evenly(x, unit):
    """Equal values, spread over the unit they were rounded to."""
    out = []
    for value, count in zip(*np.unique(x, return_counts=True)):
        out += [value + unit * ((k + 0.5) / count - 0.5) for k in range(count)]
    return np.array(out)


def check_dip(cases, rng):
    def ask(x, meant):
        wanted = dip_by_programs(meant)
        cases.ask(f"dip {listed(x)}",
                  lambda got, wanted=wanted: differs(got[:1], [wanted], ["dip"], 1e-6))

    for _ in range(12):
        n = int(rng.integers(8, 13))
        two = np.concatenate([rng.normal(size=n // 2), rng.normal(5, 1, n - n // 2)])
        thirds = rng.integers(0, 8, n) / 3 + 0.01 / 3  # no decimal unit: ties stay steps
        whole = rng.integers(90, 100, n).astype(float)
        hundredths = np.round(rng.normal(3, 0.03, n), 2)
        for x, unit in ((rng.normal(size=n), 0), (two, 0), (rng.lognormal(0, 2, n), 0),
                        (thirds, 0), (whole, 1), (hundredths, 0.01)):
            if len(np.unique(x)) > 1:
                ask(x, spread_evenly(x, unit))
    # p of uniform numbers is uniform, for sizes in the table and between.
    for n in (8, 10, 13, 17, 45, 160):
        answers = []

        def collect(got, answers=answers, n=n, last=400):
            answers.append(got[1])
            if len(answers) == last:
                for alpha in (0.05, 0.2, 0.5):
                    share = np.mean(np.array(answers) <= alpha)
                    if abs(share - alpha) > 4 * math.sqrt(alpha * (1 - alpha) / last):
                        return f"n={n}: {share} of uniform samples have p <= {alpha}"
            return None

        for _ in range(400):
            cases.ask(f"dip {listed(rng.random(n))}", collect)


# ---- change points ----------------------------------------------------------------------------

def energies(x):
    """E-divisive's q of every split of x: double sums, as in the paper."""
    distance = np.abs(np.subtract.outer(x, x))
    out = np.full(len(x), -math.inf)
    for m in range(2, len(x) - 1):
        k = len(x) - m
        within_left = distance[:m, :m].sum() / 2
        within_right = distance[m:, m:].sum() / 2
        out[m] = m * k / (m + k) * (2 / (m * k) * distance[:m, m:].sum()
                                    - 2 / (m * (m - 1)) * within_left
                                    - 2 / (k * (k - 1)) * within_right)
    return out


def p_of_energy(x, rng, least, permutations):
    """The permutation test of the largest energy of ranks, with other chance than ours."""
    ranks = stats.rankdata(x)
    best = max(energies(ranks)[least:len(x) - least + 1])
    as_large = sum(max(energies(rng.permutation(ranks))[least:len(x) - least + 1])
                   >= best * (1 - 1e-12) for _ in range(permutations))
    return (as_large + 1) / (permutations + 1)


def check_changes(cases, rng):
    for step in (0, 0.7, 1, 1.5, 2, 4):  # whether the first split is significant
        for _ in range(3):
            x = np.concatenate([rng.normal(size=13), rng.normal(step, 1, 12)])
            p = p_of_energy(x, rng, 3, 150)
            if p < 0.01:
                cases.ask(f"changes 0.1 0 3 1 {listed(x)}",
                          lambda got, p=p: None if got else f"a change has p = {p}")
            elif p > 0.12:
                # The other test, of windows, has the other half of alpha.
                cases.ask(f"changes 0.1 0 3 1 {listed(x)}",
                          lambda got, p=p: f"no change has p = {p}"
                          if got and got[1] < 0.02 else None)
    for n in range(12, 60, 4):  # where it is, and the medians
        at = int(rng.integers(6, n - 5))
        x = np.concatenate([rng.normal(size=at), rng.normal(40, 1, n - at)])
        wanted = [at, np.median(x[:at]), np.median(x[at:])]

        def check(got, wanted=wanted):
            near = [i for i in range(0, len(got), 4) if got[i] == wanted[0]]
            if not near:
                return f"no change at {wanted[0]}"
            if len(got) > 4:
                return None  # one more in the noise moves the medians
            return differs([got[0], got[2], got[3]], wanted, ("index", "before", "after"))

        cases.ask(f"changes 0.05 0 3 1 {listed(x)}", check)


# ---- what others expect -----------------------------------------------------------------------

def benchstat_values(path):
    values = {}
    for name, number in re.findall(r"^Benchmark(\S+)\s+\d+\s+(\S+) ns/op", path.read_text(), re.M):
        values.setdefault(name, []).append(float(number))
    return values


def check_benchstat(cases, folder):
    old, new = (benchstat_values(folder / name) for name in ("old.txt", "new.txt"))
    rows = 0
    for row in (folder / "csvOldNew.stdout").read_text().splitlines():
        cells = row.split(",")
        if cells[0] in old and cells[0] in new:
            rows += 1
            x, y = old[cells[0]], new[cells[0]]
            p = float(re.search(r"p=(\S+)", cells[6])[1])
            cases.ask(f"rank {listed(x)} {listed(y)}",
                      lambda got, p=p: None if round(got[1], 3) == p else f"benchstat: p={p}")
            for values, median, reach in ((x, cells[1], cells[2]), (y, cells[3], cells[4])):
                def check(got, median=float(median) * 1e9, reach=reach):
                    widest = max(got[2] - got[0], got[0] - got[1]) / got[0]
                    return (differs(got[:1], [median], ["median"])
                            or (None if f"{widest:.0%}" == reach else f"benchstat: {reach}"))
                cases.ask(f"order 0.95 {listed(values)}", check)
    if rows != 2:
        cases.problems.append(f"benchstat: {rows} rows read, not 2")
    said = (folder / "smallSample.stdout").read_text()
    need = [int(n) for n in re.findall(r"need >= (\d+) samples", said)]
    cases.ask("least 0.05 1 1", lambda got: differs(got, [need[1], 1], ("n", "p")))
    cases.ask(f"order 0.95 {listed(range(need[0]))}",
              lambda got: None if got[3] >= 0.95 else "the level is not reached")
    cases.ask(f"order 0.95 {listed(range(need[0] - 1))}",
              lambda got: None if got[3] < 0.95 else "the level is reached")


def check_mongodb(cases, folder):
    series, expected = (np.array(json.loads((folder / f"{name}.json").read_text()))
                        for name in ("robust_series", "expected_result_robust_series"))
    # Their first version divided whole numbers; this is to know that the formula is the same.
    q = energies(series)
    n = len(series)
    for m in range(2, n - 2):
        whole = m * (n - m) // n / (m * (n - m) / n)
        if abs(q[m] * whole - expected[m]) > 1e-6 * abs(expected[m]):
            cases.problems.append(f"MongoDB's q at {m} is {expected[m]}, ours {q[m] * whole}")
            break
    largest = int(np.argmax(expected))
    cases.ask(f"changes 0.01 0 3 1 {listed(series)}",
              lambda got: None if any(abs(i - largest) <= 1 for i in got[0::4])
              else f"no change where MongoDB has its largest q, at {largest}")


def check_otava(cases, folder):
    rows = [line.split(",") for line in (folder / "sample.csv").read_text().split()[0:]
            if line.count(",") >= 2]
    metrics = np.array([[float(v) for v in row[-2:]] for row in rows if row[-1][0].isdigit()])
    if len(metrics) != 10:
        cases.problems.append(f"Otava: {len(metrics)} rows read, not 10")
    cases.ask(f"changes 0.05 0 3 1 {listed(metrics[:, 0])}",
              lambda got: "Otava has no change here" if got else None)
    cases.ask(f"changes 0.05 0 3 1 {listed(metrics[:, 1])}",
              lambda got: None if got[0::4] == [6] else "Otava has a change at 6")


def check_mlperf(cases, folder):
    seconds = []
    for path in sorted(folder.glob("NVIDIA_nyx_n1_sd_result_*.txt")):
        times = {entry["key"]: entry["time_ms"]
                 for entry in map(json.loads, re.findall(r":::MLLOG (\{.*\})", path.read_text()))
                 if entry["key"] in ("run_start", "run_stop")}
        seconds.append((times["run_stop"] - times["run_start"]) / 1000)
    if len(seconds) != 10:
        cases.problems.append(f"MLPerf: {len(seconds)} runs, not 10")
    cases.ask(f"dip {listed(seconds)}",
              lambda got: None if got[1] <= 0.05 else "two groups of runs are two modes")


def main():
    cases = Cases(sys.argv[1])
    rng = np.random.default_rng(SEED)
    for check in (check_order, check_rank, check_ratio, check_adjust, check_dip, check_changes):
        check(cases, rng)
    folder = pathlib.Path(os.environ.get("TC_SAMPLES", ""), "results")
    for name, check in (("benchstat", check_benchstat), ("otava", check_otava),
                        ("mongodb-signal-processing", check_mongodb),
                        ("mlperf-mllog", check_mlperf)):
        if (folder / name).is_dir():
            check(cases, folder / name)
        else:
            print(f"without the samples of {name}: not there")
    cases.run()
    for problem in cases.problems[:20]:
        print(problem)
    print(f"{len(cases.asked)} cases, {len(cases.problems)} differences")
    return 1 if cases.problems else 0


if __name__ == "__main__":
    sys.exit(main())
