"""Whether a plan, or the folder of a release, proves what it states: a program of its own, to be read in an hour.

python verifier.py FOLDER_OR_PLAN [TABLE ...] says of each claim that it is verified, NOT VERIFIED, or not checked, and
why, and exits with 1 if one is wrong or the cost is not checked.  It needs only Python.  See docs/mathematics.md.
"""
import csv
import hashlib
import io
import json
import math
import re
import sys
import zipfile
from array import array
from collections import Counter, defaultdict
from fractions import Fraction
from functools import cache, cached_property
from importlib.util import find_spec
from itertools import chain, combinations, combinations_with_replacement, pairwise, product, repeat
from pathlib import Path
from statistics import NormalDist

TYPES, CANONICAL = {"<f8": "d", "<i8": "q", "<i4": "i", "<i2": "h"}, {"separators": (",", ":"), "sort_keys": True}
SURE, CLOSE, LEAST_SCALE = 1e-9, 1e-6, 2**22  # what rounding may change; how near errors are; how wide noise is, (44)
MOST_CELLS, MOST_TERMS = 20_000, 2**18  # of a table, of a maximum: what is larger is not checked
UNFIT, QUERIES = "its noise is not that of all subsets of its queries", ("attributes", "kinds", "weights")
class Wrong(Exception): ...  # a claim is false, or a file is damaged
class NotChecked(Exception): ...  # why a claim is not checked
def require(is_so, words, error=Wrong):
    if not is_so:
        raise error(words)
def require_few(count, most, what):
    require(count <= most, f"{count:,} {what} are too many for this program", NotChecked)
def near(stated, found, size=0.0):
    return abs(float(stated) - found) <= CLOSE * max(abs(found), size)
def subsets(members, least=0):
    return chain.from_iterable(combinations(members, k) for k in range(least, len(members) + 1))
def times(a, b):  # a times b transposed
    return [[sum(x * y for x, y in zip(row, other)) for other in b] for row in a]
def sha256(data):
    return hashlib.sha256(data).hexdigest()
def parsed(text, **form):
    value = json.loads(text)
    require(json.dumps(value, **form).encode() == text.strip(), "it is not in the form that it is written in")
    return value
def rows_of_csv(path):
    return [*csv.DictReader(io.StringIO(path.read_bytes().decode(), newline=""), strict=True)]
def rows_of_table(path):
    if path.suffix == ".csv":
        return rows_of_csv(path)
    is_read = path.suffix == ".parquet" and find_spec("pyarrow")
    require(is_read, f"errors are right, but {path.suffix} is not read", NotChecked)
    from pyarrow.parquet import read_table  # where it is installed: Python by itself reads no Parquet
    return [{k: "" if v is None else str(v) for k, v in row.items()} for row in read_table(path).to_pylist()]

def read_archive(path, kind):  # the content of a file, its arrays, number after number, and what it says of these
    require(path.exists() or not (path.parent / "measured-1.plan").exists(), "there are several", NotChecked)
    data, arrays = path.read_bytes(), {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        is_plain = all(each.compress_type == 0 for each in archive.infolist())
        require(is_plain and sum(each.file_size for each in archive.infolist()) <= len(data), "it is compressed")
        header = parsed(archive.read("header.json"), **CANONICAL)
        require(header["format"] == f"residualplanner/{kind}", f"it is not a {kind}")
        for name, about in header["arrays"].items():
            view = memoryview(archive.read(f"{name}.npy"))
            view, arrays[name] = view[10 + int.from_bytes(view[8:10], "little") :], array(TYPES[about["dtype"]], b"")
            require_few(len(view), 2**26, "bytes")
            require(sha256(view) == about["sha256"], f"{name} was altered: its SHA-256 is not the one that is stated")
            arrays[name].frombytes(view)
            require(len(arrays[name]) == math.prod(about["shape"]), f"{name} has another length than is stated")
    return header["content"], arrays, header["arrays"]
def size_of(attribute):  # how many values it has, with labels of their own for unknown and missing entries
    listed = attribute.get("labels", attribute.get("dates", attribute.get("bins", {}).get("labels")))
    if "numeric" in attribute:
        listed = [*range((len(attribute["numeric"]["edges"]) - 1) * (2 + attribute["numeric"].get("squares", 0)))]
    own = {rule["into"] for rule in (attribute["unknown"], attribute["missing"]) if isinstance(rule, dict)}
    return (attribute["size"] if listed is None else len(listed)) + len(own - set(map(str, listed or ())))
def levels_of(kind):  # of a hierarchy: names of groups, and their members; those of a classification by level and code
    if "levels" in kind:
        return kind["levels"]
    items, found = kind["classification"]["items"], []
    names = [[f"\0{n} {code}" for code, *_ in level] for n, level in enumerate(items[:-1])]
    for n, level in enumerate(names):
        below = names[n + 1] if n + 1 < len(names) else [code for code, *_ in items[-1]]
        each = [[name for name, item in zip(below, items[n + 1]) if item[2] == code] for code, *_ in items[n]]
        found.append([*zip(level, each), *((own, [own]) for own in kind["values"][len(items[-1]) :])])
    return found
def rows_of(kind, size):  # the basic matrix of a kind of query: a row for each answer
    require_few(size, 1000, "values")
    word, runs = kind["kind"], {"identity": zip(range(size), range(size)), "prefix": zip(repeat(0), range(size))}
    if word in runs or word == "range":
        pairs = runs.get(word, combinations_with_replacement(range(size), 2))
        return [[int(first <= j <= last) for j in range(size)] for first, last in pairs]
    if word == "custom":
        return [[dict(zip(*row)).get(j, 0) for j in range(size)] for row in kind["rows"]]
    if word == "hierarchy":
        below, groups = (leaves := {str(value): {j} for j, value in enumerate(kind["values"])}), {}
        for level in levels_of(kind)[::-1]:
            below = below | {name: set().union(*(below[str(each)] for each in members)) for name, members in level}
            groups = {name: below[name] for name, _ in level} | groups
        rows = {kind["total"]: set(range(size))} | groups | (leaves if kind["leaves"] else {})  # a group may be a value
        return [[int(j in group) for j in range(size)] for name, group in rows.items() if name is not None]
    if word == "by bin":
        each, end = kind.get("per_bin", 2), kind.get("per_bin", 2) * kind["bins"]  # a bin has so many cells
        at = [j // each if j < end else j - end + kind["bins"] for j in range(size)]
        return [[row[j] for j in at] for row in rows_of(kind["of_bins"], size - end + kind["bins"])]
    if word == "selection":  # of equal answers the one about the fewest values
        chosen, of, first = {*kind["codes"]}, rows_of(kind["of"], size) if kind["of"] else [[1] * size], {}
        for number in sorted(range(len(of)), key=lambda number: sum(map(bool, of[number]))):
            first.setdefault(tuple(x * (j in chosen) for j, x in enumerate(of[number])), number)
        return [row for row in sorted(first, key=first.get) if any(row)]
    if word == "proportions":  # of all in question, of those with each value, and of the others
        every = {*chain.from_iterable(kind["cells"])}
        groups = [every, *kind["cells"], *(every.difference(cells) for cells in kind["cells"])]
        return [[int(j in group) for j in range(size)] for group in groups]
    if kind.get("edges"):
        return [[*row, *repeat(0, size - len(row))] for row in rows_of_amounts(kind)]
    raise NotChecked(f"this program does not know the matrix of the kind {kind['kind']!r}")
def rows_of_amounts(kind):  # over the cells of bins, which are at both ends or, for squares, between them, too
    word, bins = kind["kind"], [*pairwise(kind["edges"])]  # (105), (121), (124), (140), (141) and (143)
    each = kind.get("ends", kind.get("per_bin", 3 if word in ("moments", "standard deviation") else 2))
    of_bin, low, high = [b for b in range(len(bins)) for _ in range(each)], bins[0][0], bins[-1][1]
    ones, ends = [1] * len(of_bin), [a + (b - a) * j / max(each - 1, 1) for a, b in bins for j in range(each)]
    if word == "sum":
        groups = [{b} for b in range(len(bins))] if kind["by"] else [{*of_bin}]
        return [[x * (b in group) for x, b in zip(ends, of_bin)] for group in groups]
    if word == "mean":
        least, most = kind["between"] or (low, high)
        return [ones, [(x - least) / (high - low) for x in ends], [(most - x) / (high - low) for x in ends]]
    if word == "quantiles":
        pairs = product(kind["probabilities"], range(len(bins) - 1))
        return [ones, *([(b <= edge) - p for b in of_bin] for p, edge in pairs)]
    t = [(2 * x - low - high) / (high - low) for x in ends]
    squares = [x * y for a, _, b in zip(*[iter(t)] * 3) for x, y in ((a, a), (a, b), (b, b))]
    if word == "moments":
        return [ones, t, squares]
    halves = [[(x + y) / 2 for x, y in zip(*pair)] for pair in ((ones, t), (ones, [-x for x in t]), (t, squares))]
    return [ones, *halves[:2], squares, [1 - y for y in squares], halves[2]]
def inverted(rows):  # the pseudo-inverse of T, transposed: (T T')^-1 T, by Gauss and Jordan
    a = [[*map(float, row), *own] for row, own in zip(times(rows, rows), rows)]
    for c in range(len(a)):
        a[c] = [x / a[c][c] for x in a[c]]  # not 0, as T T' is positive definite
        a = [row if r == c else [x - row[c] * y for x, y in zip(row, a[c])] for r, row in enumerate(a)]
    return [row[len(a) :] for row in a]
class StatedPlan:  # what its file states, and what follows from its queries, bases and noise
    def __init__(self, content, arrays, declared):
        self.content, self.arrays, self.declared, self.kinds = content, arrays, declared, content["kinds"]
        self.attributes, weight = content["domain"]["attributes"], content["domain"].get("weight", {})
        self.sizes, self.varying = [*map(size_of, self.attributes)], set(arrays.get("bases/varying", ()))
        self.noise, self.of_attribute = arrays["noise_variance"], arrays["bases/of_attribute"]
        require(all(0 < each < math.inf for each in self.noise), "some noise is not positive and finite")
        self.factor = (content["records_per_person"] * Fraction(weight.get("maximum", 1))) ** 2
        self.unit = Fraction(weight.get("unit", 1))
        self.is_replaced = {"add-remove": False, "replace": True}[content["neighbors"]]
        self.matrices = {-1: None}
        for b in range(len(content["bases"])):
            flat, (*rows, n) = arrays[f"bases/matrix_{b}"], declared[f"bases/matrix_{b}"]["shape"]
            require(rows, "this program does not read bases that are kept layer by layer", NotChecked)
            self.matrices[b] = [flat[at : at + n] for at in range(0, len(flat), n)]
        self.squares = {b: m and [sum(x * x for x in column) for column in zip(*m)] for b, m in self.matrices.items()}
        self.orders = [k for k in range(len(self.sizes) + 1) if f"queries/weights_{k}" in arrays]
        self.blocks = [(k, *(arrays[f"queries/{each}_{k}"] for each in QUERIES)) for k in self.orders]
        require(all(len(m) == len(o) == k * len(w) for k, m, o, w in self.blocks), "the queries do not fit together")
        self.used = self.measurable(sorted(set(chain.from_iterable(m for _, m, _, _ in self.blocks))))
        self.is_complete = all(  # whether the queries of each order are about each set of so many attributes once
            len(w) == math.comb(len(self.used), k) and m == array("i", chain.from_iterable(combinations(self.used, k)))
            for k, m, _, w in self.blocks)
    def measurable(self, members):  # without those that have a single value, which no table needs
        return tuple(i for i in members if self.sizes[i] > 1)
    @cached_property
    def queries(self):  # the attributes and the kinds of each
        rows = (zip(*(zip(*[iter(f)] * k) for f in (m, o))) if k else [((), ())] * len(w) for k, m, o, w in self.blocks)
        return [*chain.from_iterable(rows)]
    @cached_property
    def sets(self):  # what is measured: for each subset of the queries' sets its noise, and the bases of its attributes
        found, factor = defaultdict(set), iter(self.arrays.get("bases/of_factor", ()))
        for own in {self.measurable(members) for members, _ in self.queries}:
            found[len(own)].add(own)
        for k in range(max(found), 0, -1):
            found[k - 1].update(chain.from_iterable(combinations(members, k - 1) for members in found[k]))
            require(sum(map(len, found.values())) <= len(self.noise), UNFIT)
        sets = [*chain.from_iterable(sorted(found[k]) for k in sorted(found))]
        require(len(sets) == len(self.noise), UNFIT)
        bases = ({i: next(factor) if i in self.varying else self.of_attribute[i] for i in own} for own in sets)
        return dict(zip(sets, zip(self.noise, bases)))
    def named(self, names, of_queries=False):  # names of the attributes of each set, or of each query
        if self.is_complete:
            orders, used = self.orders if of_queries else range(self.orders[-1] + 1), [names[i] for i in self.used]
            require(of_queries or len(self.noise) == sum(math.comb(len(used), k) for k in orders), UNFIT)
            return chain.from_iterable(combinations(used, k) for k in orders)
        found = (self.measurable(own) for own, _ in self.queries) if of_queries else self.sets
        return (tuple(names[i] for i in own) for own in found)
    def labels(self, i, kind):  # of single values; none for other cells
        listed = self.attributes[i].get("labels", self.attributes[i].get("bins", {}).get("labels", ()))
        return listed if self.kinds[kind] == {"kind": "identity"} and len(listed) == self.sizes[i] else ()
    def square(self, b, i, value=None):  # the squared length of a column of a basis; of the longest one without a value
        n, found = self.sizes[i], self.squares[b]
        return Fraction(n - 1, n) if not found else max(found) if value is None else found[value]
    @cached_property
    def cost(self):  # for the neighbors it names: (8), (28), (37), (41) or (129), with the w of (34) for precisions
        if self.is_replaced or self.varying:
            return (self.replacement_cost() if self.is_replaced else self.varying_cost()) * self.factor
        sums, names = Counter(), [*zip(self.sizes, self.of_attribute)]  # the same for attributes that can be exchanged
        for (members, noise), count in Counter(zip(self.named(names), self.noise)).items():
            numerator, denominator = math.nextafter(1 / noise, 0.0).as_integer_ratio()
            sums[members] += (numerator * count) << 1080 - denominator.bit_length()
        p = {name: self.square(name[1], i) for i, name in enumerate(names)}
        return self.factor * sum(Fraction(own, 2**1079) * math.prod(map(p.get, m)) for m, own in sums.items())
    def varying_cost(self):  # the right side of (41); messages cancel for every record, so that any prove a bound
        messages, total, singles = iter(self.arrays["bases/messages"]), Fraction(0), {}
        for own, (noise, bases) in self.sets.items():
            w, axes = Fraction(math.nextafter(1 / noise, 0.0)), []
            for i, b in bases.items():
                costs = [self.square(b, i, value) for value in range(self.sizes[i])]
                if i not in self.varying:
                    w *= max(costs)
                elif len(own) == 1:
                    singles[i] = [w * cost for cost in costs]
                else:
                    sent = [Fraction(next(messages)) for _ in costs]
                    singles[i] = [cost + more for cost, more in zip(singles[i], sent)]
                    axes.append(set(zip(costs, sent)))
            require_few(math.prod(map(len, axes)), MOST_TERMS, "cells")
            if len(own) != 1 or own[0] not in self.varying:
                total += max(w * math.prod(c for c, _ in cell) - sum(s for _, s in cell) for cell in product(*axes))
        return total + sum(map(max, singles.values()))
    def replacement_cost(self):  # the largest of all ways in which two records can differ; the total is public
        ways, sets, most = [], [*self.sets.values()][1:], Fraction(0)
        for i in self.used:
            bases, n = sorted({of[i] for _, of in sets if i in of}), self.sizes[i]
            require_few(n, 200, "values")
            differences = [[Fraction((j == k) * n - 1, n) for k in range(n)] for j in range(n)]
            columns = ((b, [*zip(*self.matrices[b])] if b >= 0 else None) for b in bases)
            dots = [(b, times(own, own) if own else differences) for b, own in columns]
            pairs = combinations_with_replacement(range(n), 2)
            ways.append({tuple(((i, b), d[j][j], d[k][k], d[j][k]) for b, d in dots) for j, k in pairs})
        require_few(math.prod(map(len, ways)) * len(sets), MOST_TERMS, "ways to replace a record")
        for chosen in product(*ways):
            at, cost = {key: rest for way in chosen for key, *rest in way}, Fraction(0)
            for noise, bases in sets:
                a, b, c = (math.prod(at[key][part] for key in bases.items()) for part in range(3))
                cost += (a + b - 2 * c) / Fraction(noise)
            most = max(most, cost)
        return most
    @cache  # noqa: B019 - it is needed until the program ends
    def answers(self, b, i, kind):  # of each row w of a kind w u, w G and the variance factor of that, (9), (26)
        n, wanted = self.sizes[i], rows_of(self.kinds[kind], self.sizes[i])
        if b < 0:
            sums = [(sum(row), row) for row in wanted]
            return [(s / n, [s / n - x for x in row[1:]], sum(x * x for x in row) - s * s / n) for s, row in sums]
        basis = [[1] * n, *self.matrices[b]]
        found = times(wanted, inverted(basis))  # W [u | G], (36)
        again = times(found, [*zip(*basis)])
        is_so = all(abs(x - y) <= CLOSE * max(map(abs, w)) for w, own in zip(wanted, again) for x, y in zip(w, own))
        require(is_so, "a basis times its inverse does not give the queries on its attribute")
        return [(row[0], row[1:], sum(x * x for x in row[1:])) for row in found]
    def spread(self, own, below):  # the h of (39): products of u by attribute and basis, and how often each is there
        free = [i for i in own if i not in below]
        if not self.varying or not free:
            return {tuple((i, self.of_attribute[i]) for i in free): 1}
        found = Counter()
        for gone in subsets(free, 1):
            for term, often in self.spread(tuple(i for i in own if i not in gone), below).items():
                found[tuple(sorted((*term, *((i, self.sets[own][1][i]) for i in gone))))] -= (-1) ** len(gone) * often
        return {term: often for term, often in found.items() if often}
    def table(self, members, kinds, measured=None):  # of each cell its variance and estimate: (25), (26), (39) and (40)
        of, at = dict(zip(members, kinds)), {i: axis for axis, i in enumerate(members)}
        sizes = [len(self.answers(self.of_attribute[i], i, kind)) for i, kind in of.items()]
        require(math.prod(sizes) <= MOST_CELLS, f"more than {MOST_CELLS:,} cells", NotChecked)
        cells = {cell: [0.0, 0.0] for cell in product(*map(range, sizes))}
        own = self.measurable(members)
        alone = [(at[i], self.answers(-1, i, of[i])) for i in members if i not in own]
        for below in subsets(own):
            noise, bases = self.sets[below]
            inside = [(at[i], self.answers(b, i, of[i])) for i, b in bases.items()]
            spread = self.spread(own, below).items()
            terms = [(often, alone + [(at[i], self.answers(b, i, of[i])) for i, b in term]) for term, often in spread]
            parts = measured[below] if measured else []
            for _, rows in inside if measured else ():  # each product moves its axis to the end
                step = len(parts) // len(rows[0][1])
                columns = [parts[j::step] for j in range(step)]
                parts = [sum(x * y for x, y in zip(row[1], column)) for column in columns for row in rows]
            ends = dict(zip(product(*(range(len(rows)) for _, rows in inside)), parts))
            for cell, sums in cells.items():
                far = sum(often * math.prod(rows[cell[a]][0] for a, rows in term) for often, term in terms)
                sums[0] += noise * far * far * math.prod(rows[cell[a]][2] for a, rows in inside)
                sums[1] += far * ends.get(tuple(cell[a] for a, _ in inside), 0.0)
        return cells
    def measured(self, integers):  # the noisy answers of each set: integers, by their bases, over a divisor, (44)
        amounts = [each.get("numeric", {"edges": (0, 1)}) for each in self.attributes]
        steps = [math.lcm(*(b - a for a, b in pairwise(e["edges"]))) ** (1 + e.get("squares", 0)) for e in amounts]
        basis = [*zip(self.sizes, steps)]
        varying = [(b, i) for _, of in self.sets.values() for i, b in of.items() if i in self.varying]
        keys = dict.fromkeys((b, *basis[i]) for b, i in [*zip(self.of_attribute, range(len(basis))), *varying])
        keys, groups, found, at = sorted(keys, key=lambda key: key[1]), defaultdict(list), {}, 0
        for own, (noise, of) in self.sets.items():
            number = (len(own), *(keys.index((b, *basis[i])) for i, b in of.items()))
            groups[number].append((own, math.nextafter(1 / noise, 0.0)))
        for (_, *numbers), group in sorted(groups.items()):
            own, w = [keys[number] for number in numbers], Fraction(max(w for _, w in group))
            divisor = math.prod((d * (n if b < 0 else 1) for b, n, d in own), start=self.unit.denominator)
            while (own or not self.is_replaced or w < 2**10) and divisor**2 < LEAST_SCALE**2 * w:
                divisor *= 2
            count = math.prod(len(self.matrices[b] or range(n - 1)) for b, n, _ in own)
            for each, _ in group:
                found[each], at = [number / divisor for number in integers[at : at + count]], at + count
        require(at == len(integers), "it has another number of answers than its plan")
        return found
    def distance(self):  # of the loss, which must be as stated, from the least that noise can have: (14), (16) and (17)
        loss, power = self.content["loss"], {"cells": 1.0, "sqrt": 0.5, "equal": 0.0, None: 0.0}
        is_plain = max(self.of_attribute) < 0 and not self.is_replaced and self.kinds == [{"kind": "identity"}]
        has_proof = (loss["kind"] == "sum" or "proof/weights" in self.arrays) and "suboptimality" in self.content
        require(is_plain and has_proof and loss["weights"] in power, "this program knows no proof of it", NotChecked)
        is_max, names = loss["kind"] == "max", [(n, 0 if self.is_complete else i) for i, n in enumerate(self.sizes)]
        have, noise, v, queries, values = Counter(names[i] for i in self.used), {}, Counter(), Counter(), []
        each_noise = Counter(zip(self.named(names), self.noise))
        is_even = all(near(noise.setdefault(tuple(sorted(a)), each), each) for a, each in each_noise)
        weights = [*chain.from_iterable(w for *_, w in self.blocks)]
        dual = self.arrays["proof/weights"] if is_max else [1.0] * len(weights)
        for (b, *rest), count in Counter(zip(self.named(names, of_queries=True), weights, dual, strict=True)).items():
            queries[tuple(sorted(b)), *rest] += count
        if not is_even or len({(b, w) for b, w, _ in queries}) > len({b for b, _, _ in queries}):
            self.is_complete = False  # equal attributes are not treated alike: every set is a sort of its own
            return self.distance()
        for (b, weight, y), count in queries.items():
            x = weight * math.prod(n ** (power[loss["weights"]] - 2) for n, _ in b)
            part = {a: k * math.prod((n - 1) * n for n, _ in a) for a, k in Counter(subsets(b)).items()}
            values.append(x * sum(noise[a] * each for a, each in part.items()) * (1 if is_max else count))
            v.update({a: x * y * count * each for a, each in part.items()})
        root, total = 0.0, max(values) if is_max else sum(values)
        for a, weight in v.items():  # of all sets that equal attributes make of it together: each has an even part
            count = math.prod(math.comb(have[c], a.count(c)) for c in set(a))
            root += math.sqrt(weight * count * math.prod((n - 1) / n for n, _ in a))
        spent = sum(y * count for (_, _, y), count in queries.items()) if is_max else 1
        require(min(y for _, _, y in queries) >= 0 and spent <= 1 + SURE, "its dual weights are no weights")
        require(near(self.content["loss_value"], total), f"its loss is {total:.9g}")
        excess, stated = total * float(self.cost / self.factor) / root**2, self.content["suboptimality"]
        is_near = excess <= 1 + self.content["gap"] + SURE and math.sqrt(excess) <= 1 + stated + SURE
        require(is_near, f"errors may be {math.sqrt(excess) - 1:.3g} above those of the best")
        return f"errors are at most {stated:.3g} above those of the best of all mechanisms"

def privacy(plan):  # the cost, within what is stated, and within the budget as it is worded
    stated, budget, cost = Fraction(plan.content["pcost"]), plan.content["budget"], float(plan.cost)
    require(plan.cost <= stated and (plan.is_replaced or near(stated, cost)), f"the noise costs {cost:.9g}")
    limit, given = Fraction(budget["pcost"]), [Fraction(each) for each in budget["given"]]
    worth = {"zcdp": 2 * given[0], "pcost": given[0], "gdp": given[0] ** 2}.get(budget["notion"])
    if worth is None:  # (4): some order a must prove it
        require(budget["noise"] == "discrete", "its epsilon and delta are for continuous noise", NotChecked)
        (epsilon, delta), rho = map(float, given), float(limit) / 2
        more = (2 ** (j / 4096) for j in range(-40960, 81920))
        logs = (a * ((a + 1) * rho - epsilon) - math.log(a) + (a + 1) * math.log(a / (a + 1)) for a in more)
        worth = limit if min(logs) <= math.log(delta) + CLOSE else 0
    require(stated <= limit <= worth, "it costs more than its budget, or this is more than it says in words")
    return f"pcost {cost:.9g}, an exact fraction, within {float(limit):.9g}"
def unbiased(plan):  # each basis times its inverse gives the queries on its attribute, in every set
    of_sets = [of for _, of in plan.sets.values()] if plan.varying else [dict(enumerate(plan.of_attribute))]
    uses = set(chain.from_iterable(zip(m, o) for _, m, o, _ in plan.blocks))
    pairs = {(of[i], i, kind) for of in of_sets for i, kind in uses if of.get(i, -1) >= 0}
    return f"{sum(1 for each in pairs if plan.answers(*each))} pairs of a basis and a kind; all others are differences"
def files(folder, manifest, plan):  # every file is listed, and is what is listed
    require(manifest["tables"]["format"] != "parts", "parts are listed in Parquet", NotChecked)
    index, errors = (rows_of_csv(folder / f"{name}.csv") for name in ("index", "errors"))
    require(len(index) == len(errors) == len(plan.queries), "index or errors.csv have other tables than the plan")
    listed = manifest["files"] | {row["file"]: row["sha256"] for row in index} | {"manifest.json": None}
    found = {each.relative_to(folder).as_posix(): each for each in folder.rglob("*") if not each.is_dir()}
    require(found.keys() == listed.keys(), f"listed or there, not both: {sorted(found.keys() ^ listed.keys())[:5]}")
    for name, each in found.items():
        is_so = each.is_file() and not each.is_symlink() and listed[name] in (None, sha256(each.read_bytes()))
        require(is_so, f"{name} is not the file that is listed")
    return [*zip(index, errors)]
def statement(plan, measurement, manifest, metadata):  # what is said of plan and noise everywhere, word for word
    (answers, _, declared), text = measurement, json.dumps([plan.content, plan.declared], **CANONICAL)
    own, noise = {f"plan/{name}": about for name, about in plan.declared.items()}, answers["noise"]
    hashes = {manifest["plan"]["sha256"], metadata["plan_sha256"], answers["plan_sha256"], sha256(text.encode())}
    again = all(manifest["plan"][key] == plan.content[key] for key in plan.content.keys() - {"loss", "bases", "orders"})
    is_one = len(hashes) == 1 and answers["plan"] == plan.content and again and declared == declared | own
    require(is_one, "files are of different plans")
    said, seedless = noise["guarantee"], {"seed": None}
    is_so = noise | seedless == manifest["noise"] | seedless and metadata["privacy"]["guarantee"] == said
    require(is_so, "files say different things of the noise")
    if noise["kind"] != "discrete" or noise["source"] != "os.urandom":
        require(said.startswith("none: "), "noise that can be foreseen has a guarantee")
        return said
    cost, k = Fraction(plan.content["pcost"]) if plan.is_replaced else plan.cost, plan.content["records_per_person"]
    change = "replacing " if plan.is_replaced else "adding or removing "
    change += "one record" if k == 1 else f"up to {k} records"
    start, most, end = re.fullmatch(r"(.*) \(<= (.*?)\) (under .*)", said).groups()
    words = f"under {change}, with exact discrete Gaussian noise from the operating system's random bits."
    is_so = start == f"This release satisfies rho-zCDP with rho = {cost / 2}" and Fraction(most) >= cost / 2
    told = noise["pcost"], noise["neighbors"], manifest["plan"]["protected_change"]
    is_exact = told == (f"{cost.numerator}/{cost.denominator}", change, change)
    require(is_so and is_exact and end.startswith(words), "the sentence, the exact cost or the neighbors are others")
    return said
def numbers(plan, number, path, errors, measured, about):  # every number of a table, and its row of errors.csv
    members, kinds = plan.queries[number]
    k, level, axes = len(members), about["conf_level"], range(len(members))
    if f"queries/axes_{k}" in plan.arrays:
        first = (number - sum(len(w) for order, _, _, w in plan.blocks if order < k)) * k
        axes = plan.arrays[f"queries/axes_{k}"][first : first + k]
    cells = sorted(plan.table(members, kinds, measured).items(), key=lambda cell: [cell[0][axis] for axis in axes])
    margin, each = 16 / LEAST_SCALE - NormalDist().inv_cdf((1 - level) / 2), [variance for _, (variance, _) in cells]
    found = {"std_err": math.sqrt(sum(each) / len(each)), "max_std_err": math.sqrt(max(each)), "conf_level": level}
    found["moe"] = margin * found["std_err"]
    require(all(near(errors[name], value) for name, value in found.items()), "its errors in errors.csv are others")
    rows, of_values = rows_of_table(path), [plan.labels(i, kind) for i, kind in zip(members, kinds)]
    require(len(rows) == len(cells), "it has another number of cells")
    require("product" not in about, "its numbers are no unbiased estimates", NotChecked)
    forms = {"E", "M"}, {"estimate", "std_dev"}, {"estimate", "std_err", "moe", "conf_level", "ci_low", "ci_high"}
    require(any(form <= rows[0].keys() for form in forms), "it has other columns than tables have")
    for row, (cell, (variance, estimate)) in zip(rows, cells):
        error, moe = math.sqrt(variance), math.sqrt(variance) * margin
        found = {"std_err": error, "std_dev": error, "moe": moe, "M": moe, "conf_level": level}
        if measured:
            found |= {"estimate": estimate, "E": estimate, "ci_low": estimate - moe, "ci_high": estimate + moe}
        wrong = [name for name in found.keys() & row.keys() if row[name] and not near(row[name], found[name], error)]
        texts = zip((plan.attributes[i]["name"] for i in members), of_values, cell)
        wrong += [name for name, labels, at in texts if labels and row[name].lower() != str(labels[at]).lower()]
        require(not wrong, f"{wrong} of {row} do not follow from plan and measurement")
    return f"{len(cells)} cells{'' if measured else ', but not their estimates'}"

def verify(path, wanted=(), say=print) -> int:  # say what is verified, for some tables or all; the exit status
    failed, folder, path = [], path, path / "release.plan" if path.is_dir() else path
    def claim(what, work, *arguments, **more):
        try:
            found = work(*arguments, **more)
            say(f"{what}: verified{f': {found}' if isinstance(found, str) else ''}")
            return found
        except NotChecked as reason:
            say(f"{what}: not checked: {reason}")
        except Exception as error:  # noqa: BLE001 - a file may hold anything
            failed.append(what)
            say(f"{what}: NOT VERIFIED: {error if isinstance(error, Wrong) else f'damaged, {type(error).__name__}'}")
    if not (plan := claim("plan", lambda: StatedPlan(*read_archive(path, "plan")))):
        return 1
    proofs = {"privacy cost": privacy, "unbiased": unbiased, "distance": StatedPlan.distance}
    cost, *_ = [claim(what, work, plan) for what, work in proofs.items()]
    if folder != path:
        manifest = claim("manifest.json", lambda: parsed((folder / "manifest.json").read_bytes(), indent=2))
        metadata = claim("metadata.json", lambda: parsed((folder / "metadata.json").read_bytes(), indent=1))
        tables = claim("files", files, folder, manifest, plan)
        noisy = claim("measurement", read_archive, folder / "release.measurement", "measurement")
    if folder != path and noisy and not failed:
        claim("privacy statement", statement, plan, noisy, manifest, metadata)
        measured = None if noisy[1].get("wide_groups", True) else claim("answers", plan.measured, noisy[1]["integers"])
        for number, (row, errors) in enumerate(tables or ()):
            if not wanted or row["file"] in wanted:
                claim(row["file"], numbers, plan, number, folder / row["file"], errors, measured, manifest["tables"])
    return int(bool(failed) or cost is None)
if __name__ == "__main__":
    sys.exit(verify(Path(sys.argv[1]), sys.argv[2:]) if sys.argv[1:] and Path(sys.argv[1]).exists() else 2)
