"""The paper's section "Results", sentence by sentence, decided from the tidy rows.

The paper gives no numbers and its images are not in its source: what its words are taken to mean stands in the constants.
Where a sentence makes several claims it is divided into clauses.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from experiments.measure import MOST_COLUMNS, TREE_DEPTH, TREE_SECONDS
from experiments.rows import ROUNDING, NotMeasuredError, Results, in_half_of_the_folds, shared_cells
from experiments.verdicts import Verdict, almost_everywhere, everywhere, listed

CART, TREE = "cart", "optimal tree"
#: The discretizations on which the sentences about CART and the optimal tree are decided.
DISCRETIZED = {"GTRE": ("gtre", None), "FCCA": ("fcca", 0.0)}
RAISED_Q = 0.7  # the paper's higher granularity
EXCEPTION = "magic"  # the data set that the paper excepts

SIMILAR_ACCURACY = 0.02  # "similar performance": means at most this far apart
KEPT_ACCURACY = 0.02  # "preserves a high accuracy level": at most this much less than at Q = 0
ALMOST_ALL = 1  # "almost all datasets": all but this many
NOTHING = 0.001  # "zero" is less than one row in a thousand, "non-zero" is that or more
SIGNIFICANT_COMPRESSION = 0.05  # "significant": one row in twenty is equal to another one
VERY_SIMILAR_RATE = 0.05  # "very similar" rates are at most this far apart
NEAR_ONE = 0.9  # "tends to 1": at the highest Q measured at least this
RISE_MATTERS = 0.5  # "can help us in deciding": rank correlation of at least this between inconsistency and lost accuracy
QUITE_HIGH = 0.05  # "quite high" inconsistency: at least this, and the highest of all data sets
ALMOST_20_PERCENT = (0.18, 0.21)
VERY_SIMILAR_SETS = 0.75  # "very similar" sets of thresholds share this part of the heat maps' cells
MUCH_SMALLER = 0.5  # "much smaller": at most this share of the thresholds at Q = 0
PRINCIPLE = -0.5  # "in principle": rank correlation of λ0 and the number of features at most this
USABLE = 0.02  # "can be used to train other models": at most this much less accurate than the optimal tree
IN_ORDER_OF = 10**-1.5  # "order of 10^-2 seconds": less than this


# --- Accuracy -------------------------------------------------------------------------------------------------------------


def midpoints_are_not_affordable(results: Results) -> Verdict:
    """Whether no optimal tree was proven on the midpoints where one was tried."""
    columns = results.mean("thresholds", "midpoints")
    tried = results.select("midpoints", classifier=TREE)
    numbers = f"thresholds between all neighbouring values: {listed(columns, '.0f')}; "
    if tried.empty:
        raise NotMeasuredError(f"{numbers}no optimal tree was tried: all have more than {MOST_COLUMNS:,} columns")
    proven = tried.groupby("dataset", sort=False)["proven"].apply(lambda values: values.astype(bool).mean())
    seconds = tried.groupby("dataset", sort=False)["seconds classifier"].mean()
    numbers += (
        f"tried up to {MOST_COLUMNS:,} columns for {TREE_SECONDS:g} s; "
        f"folds with a proven tree: {listed(proven, '.0%')} ({listed(seconds, '.1f')} s)"
    )
    return Verdict(bool((proven == 0).all()), numbers)


def trees_are_proven(results: Results) -> Verdict:
    """Whether every optimal tree on the discretized tables is proven."""
    proven = pd.DataFrame(
        {name: results.mean("proven", method, Q, TREE).astype(float) for name, (method, Q) in DISCRETIZED.items()}
    )
    seconds = results.mean("seconds classifier", "fcca", 0.0, TREE)
    numbers = (
        f"trees of depth {TREE_DEPTH} proven optimal on GTRE's and FCCA's columns: {listed(proven.min(axis=1), '.0%')}; "
        f"seconds on FCCA's: {listed(seconds, '.2f')}"
    )
    return everywhere((proven == 1).all(axis=1), numbers)


def _against_cart(results: Results, column: str, form: str, more: bool) -> Verdict:
    """Whether the optimal tree beats CART on the same columns and on the continuous table, everywhere."""
    heuristic = results.mean(column, "continuous", None, CART)
    holds, words = pd.Series(True, index=heuristic.index), [f"CART on continuous features: {listed(heuristic, form)}"]
    for name, (method, Q) in DISCRETIZED.items():
        optimal, cart = results.mean(column, method, Q, TREE), results.mean(column, method, Q, CART)
        better = (optimal > cart) & (optimal > heuristic) if more else (optimal < cart) & (optimal < heuristic)
        holds &= better.reindex(holds.index, fill_value=False)
        words += [f"optimal tree on {name}: {listed(optimal, form)}", f"CART on {name}: {listed(cart, form)}"]
    return everywhere(holds, "; ".join(words))


def optimal_is_more_accurate(results: Results) -> Verdict:
    """Higher mean accuracy."""
    return _against_cart(results, "accuracy", ".3f", more=True)


def optimal_is_sparser(results: Results) -> Verdict:
    """Fewer features asked for, on average."""
    return _against_cart(results, "classifier features", ".1f", more=False)


def optimal_is_more_robust(results: Results) -> Verdict:
    """Whether the optimal tree's accuracy varies less from fold to fold than CART's on the continuous table."""
    cart = results.folds("accuracy", "continuous", None, CART)
    if cart.shape[1] < 2:
        raise NotMeasuredError("one fold only: how accuracy varies from fold to fold is not known")
    heuristic = cart.std(axis=1, ddof=1)
    found = {
        name: results.folds("accuracy", method, Q, TREE).std(axis=1, ddof=1) for name, (method, Q) in DISCRETIZED.items()
    }
    words = "; ".join(f"optimal tree on {name}: {listed(values)}" for name, values in found.items())
    holds = pd.DataFrame(found).lt(heuristic, axis=0).all(axis=1)
    return everywhere(holds, f"deviation of the accuracy over folds: CART {listed(heuristic)}; {words}")


def gtre_and_fcca_are_as_accurate(results: Results) -> Verdict:
    """Whether the optimal trees on both differ little."""
    gtre, fcca = results.mean("accuracy", "gtre", None, TREE), results.mean("accuracy", "fcca", 0.0, TREE)
    numbers = f"optimal tree on GTRE: {listed(gtre)}; on FCCA: {listed(fcca)}; similar: at most {SIMILAR_ACCURACY:g} apart"
    return everywhere((gtre - fcca).abs() <= SIMILAR_ACCURACY, numbers)


def _lost(results: Results, Q: float) -> pd.Series:
    return results.mean("accuracy", "fcca", 0.0, TREE) - results.mean("accuracy", "fcca", Q, TREE)


def accuracy_is_kept(results: Results) -> Verdict:
    """Whether the optimal tree loses little, on almost all data sets."""
    lost = _lost(results, RAISED_Q)
    numbers = f"accuracy lost from Q = 0 to {RAISED_Q:g}: {listed(lost, '+.3f')}; kept: at most {KEPT_ACCURACY:g}"
    return almost_everywhere(lost <= KEPT_ACCURACY, ALMOST_ALL, numbers)


def _of_exception(values: pd.Series) -> float:
    if EXCEPTION not in values.index:
        raise NotMeasuredError(f"{EXCEPTION} is not in this study")
    return float(values[EXCEPTION])


def exception_loses_accuracy(results: Results) -> Verdict:
    """Whether the excepted data set loses more than the others may."""
    lost = _of_exception(_lost(results, RAISED_Q))
    return Verdict(lost > KEPT_ACCURACY, f"{EXCEPTION} loses {lost:+.3f}; kept: at most {KEPT_ACCURACY:g}")


# --- Compression and inconsistency ----------------------------------------------------------------------------------------


def continuous_has_zero_rates(results: Results) -> Verdict:
    """Whether hardly any two rows of the continuous table are equal."""
    compression, inconsistency = (results.mean(rate, "continuous") for rate in ("compression", "inconsistency"))
    holds = (compression < NOTHING) & (inconsistency < NOTHING)
    return everywhere(holds, f"compression: {listed(compression, '.4f')}; inconsistency: {listed(inconsistency, '.4f')}")


def _rates(results: Results, rate: str) -> pd.DataFrame:
    return pd.DataFrame({name: results.mean(rate, method, Q) for name, (method, Q) in DISCRETIZED.items()})


def _rates_in_words(rates: pd.DataFrame) -> str:
    return "; ".join(f"{name}: {listed(rates[name])}" for name in rates)


def compression_is_significant(results: Results) -> Verdict:
    """Of both discretizations."""
    rates = _rates(results, "compression")
    numbers = f"{_rates_in_words(rates)}; significant: at least {SIGNIFICANT_COMPRESSION:g}"
    return everywhere((rates >= SIGNIFICANT_COMPRESSION).all(axis=1), numbers)


def inconsistency_is_not_zero(results: Results) -> Verdict:
    """Of both discretizations."""
    rates = _rates(results, "inconsistency")
    return everywhere((rates >= NOTHING).all(axis=1), f"{_rates_in_words(rates)}; not zero: at least {NOTHING:g}")


def rates_are_similar(results: Results) -> Verdict:
    """Whether both rates of both discretizations are near each other."""
    found = {rate: _rates(results, rate) for rate in ("compression", "inconsistency")}
    near = {rate: (rates["GTRE"] - rates["FCCA"]).abs() <= VERY_SIMILAR_RATE for rate, rates in found.items()}
    words = "; ".join(f"{rate} of {_rates_in_words(rates)}" for rate, rates in found.items())
    return everywhere(pd.DataFrame(near).all(axis=1), f"{words}; very similar: at most {VERY_SIMILAR_RATE:g} apart")


def _by_granularity(results: Results, column: str, classifier: str | None = None) -> pd.DataFrame:
    if len(results.granularities) < 2:
        raise NotMeasuredError("one granularity only")
    return pd.DataFrame({Q: results.mean(column, "fcca", Q, classifier) for Q in results.granularities})


def _never_falls(values: pd.DataFrame) -> pd.Series:
    return (values.diff(axis=1).iloc[:, 1:] >= -ROUNDING).all(axis=1) & (values.iloc[:, -1] > values.iloc[:, 0])


def rates_rise_with_granularity(results: Results) -> Verdict:
    """Proportional is taken to mean: never falls and ends higher."""
    rates = {rate: _by_granularity(results, rate) for rate in ("compression", "inconsistency")}
    low, high = results.granularities[0], results.granularities[-1]
    words = "; ".join(
        f"{rate} from Q = {low:g} to {high:g}: "
        + ", ".join(f"{name} {row[low]:.3f}→{row[high]:.3f}" for name, row in values.iterrows())
        for rate, values in rates.items()
    )
    rising = _never_falls(rates["compression"]) & _never_falls(rates["inconsistency"])
    return everywhere(rising, f"{words}; proportional: neither ever falls, and both end higher")


def compression_tends_to_one(results: Results) -> Verdict:
    """Never falls, and is near 1 at the highest granularity."""
    rates = _by_granularity(results, "compression")
    last = rates.iloc[:, -1]
    numbers = f"at Q = {rates.columns[-1]:g}: {listed(last)}; near 1: at least {NEAR_ONE:g}"
    return everywhere(_never_falls(rates) & (last >= NEAR_ONE), numbers)


def trees_get_easier(results: Results) -> Verdict:
    """Easier: proven; small: no more leaves and features. Milliseconds are shown, but too short to decide anything."""
    columns = ("leaves", "classifier features", "proven", "seconds classifier")
    before, after = ({column: results.mean(column, "fcca", Q, TREE) for column in columns} for Q in (0.0, RAISED_Q))
    smaller = (after["leaves"] <= before["leaves"]) & (after["classifier features"] <= before["classifier features"])
    numbers = "; ".join(
        f"Q = {Q:g}: {listed(found['leaves'], '.1f')} leaves, {listed(found['classifier features'], '.1f')} features, "
        f"{listed(1e3 * found['seconds classifier'], '.0f')} ms"
        for Q, found in ((0.0, before), (RAISED_Q, after))
    )
    meaning = "easier: proven; small: no more leaves and features than at Q = 0"
    return everywhere(smaller & (after["proven"] == 1), f"optimal tree at {numbers}; {meaning}")


def inconsistency_rises(results: Results) -> Verdict:
    """From the lowest to the highest granularity."""
    rates = _by_granularity(results, "inconsistency")
    first, last = rates.iloc[:, 0], rates.iloc[:, -1]
    return everywhere(last > first, f"Q = {rates.columns[0]:g}: {listed(first)}; Q = {rates.columns[-1]:g}: {listed(last)}")


def inconsistency_tells_lost_accuracy(results: Results) -> Verdict:
    """Whether inconsistency gained since Q = 0 goes with accuracy lost since Q = 0, over data sets and granularities."""
    rates, accuracies = _by_granularity(results, "inconsistency"), _by_granularity(results, "accuracy", TREE)
    gained = rates.sub(rates[0.0], axis=0).drop(columns=0.0).melt()["value"]
    lost = (-accuracies.sub(accuracies[0.0], axis=0)).drop(columns=0.0).melt()["value"]
    correlation = _rank_correlation(gained, lost)
    numbers = f"rank correlation {correlation:.2f} over {len(gained)} data sets and granularities; helps: {RISE_MATTERS:g}"
    return Verdict(correlation >= RISE_MATTERS, numbers)


def _rank_correlation(a: pd.Series, b: pd.Series) -> float:
    ranks = a.rank().to_numpy(), b.rank().to_numpy()
    if min(np.ptp(ranks[0]), np.ptp(ranks[1])) == 0:
        return 0.0
    return float(np.corrcoef(*ranks)[0, 1])


def _acceptable(results: Results) -> tuple[pd.Series, str]:
    inconsistency = results.mean("inconsistency", "fcca", RAISED_Q)
    error = 1 - results.mean("accuracy", "fcca", 0.0, TREE)
    words = (
        f"inconsistency at Q = {RAISED_Q:g}: {listed(inconsistency)}; error of the optimal tree at Q = 0: {listed(error)}; "
        "acceptable: no more than that error"
    )
    return inconsistency <= error, words


def inconsistency_is_acceptable(results: Results) -> Verdict:
    """Whether all data sets but the excepted one are acceptable, and that one is not."""
    acceptable, words = _acceptable(results)
    expected = pd.Series([name != EXCEPTION for name in acceptable.index], index=acceptable.index)
    return everywhere(acceptable == expected, words)


def exception_is_inconsistent_at_once(results: Results) -> Verdict:
    """High, and higher than on any other data set."""
    rates = results.mean("inconsistency", "fcca", 0.0)
    rate = _of_exception(rates)
    numbers = f"Q = 0: {listed(rates)}; quite high: at least {QUITE_HIGH:g}, and the highest"
    return Verdict(rate >= QUITE_HIGH and rate == float(rates.max()), numbers)


def exception_reaches_20_percent(results: Results) -> Verdict:
    """At the raised granularity."""
    rate = _of_exception(results.mean("inconsistency", "fcca", RAISED_Q))
    low, high = ALMOST_20_PERCENT
    return Verdict(low <= rate <= high, f"{EXCEPTION} {rate:.3f}; almost 20 %: {low:g} to {high:g}")


def exception_decreases(results: Results) -> Verdict:
    """Whether the excepted data set's accuracy is less at the raised granularity, by however little."""
    before, after = (_of_exception(results.mean("accuracy", "fcca", Q, TREE)) for Q in (0.0, RAISED_Q))
    return Verdict(after < before, f"optimal tree on {EXCEPTION}: {before:.3f} at Q = 0, {after:.3f} at Q = {RAISED_Q:g}")


# --- Sparsity -------------------------------------------------------------------------------------------------------------


def thresholds_shrink(results: Results) -> Verdict:
    """Whether their number never rises with Q, and ends lower."""
    counts = _by_granularity(results, "thresholds")
    numbers = f"Q = 0: {listed(counts.iloc[:, 0], '.1f')}; Q = {counts.columns[-1]:g}: {listed(counts.iloc[:, -1], '.1f')}"
    return everywhere(_never_falls(-counts), f"thresholds at {numbers}")


def too_high_granularity_hurts(results: Results) -> Verdict:
    """The paper says that it can: one data set is enough."""
    if not results.granularities:
        raise NotMeasuredError("FCCA was not run")
    highest = results.granularities[-1]
    lost = _lost(results, highest)
    numbers = f"accuracy lost from Q = 0 to {highest:g}: {listed(lost, '+.3f')}; low: more than {KEPT_ACCURACY:g} on any"
    return Verdict(bool((lost > KEPT_ACCURACY).any()), numbers)


def raised_granularity_is_good(results: Results) -> Verdict:
    """Good: accuracy is kept, and inconsistency is acceptable."""
    acceptable, words = _acceptable(results)
    lost = _lost(results, RAISED_Q)
    good = (lost <= KEPT_ACCURACY) & acceptable
    return almost_everywhere(good, ALMOST_ALL, f"accuracy lost: {listed(lost, '+.3f')}; {words}")


def granularities_are_nested(results: Results) -> Verdict:
    """Whether as many thresholds survive up to a Q as there are at that Q, in every fold."""
    fcca = results.select("fcca", classifier=CART)
    survives = fcca[fcca["threshold survives"].notna()].set_index(["dataset", "fold"])["threshold survives"]
    if survives.empty:
        raise NotMeasuredError("no thresholds of fcca")
    wrong = sum(
        int(np.sum(np.asarray(survives[row["dataset"], row["fold"]]) >= row["Q"] - ROUNDING)) != row["thresholds"]
        for _, row in fcca.iterrows()
    )
    numbers = f"{len(fcca) - wrong} of {len(fcca)} folds and granularities keep exactly the thresholds that survive so far"
    return Verdict(wrong == 0, numbers)


def heat_maps_are_similar(results: Results) -> Verdict:
    """Whether GTRE and FCCA share most cells of their heat maps, fold by fold."""
    shared, together = {}, {}
    for name in results.datasets:
        gtre, fcca = results.heat_maps("gtre", name), results.heat_maps("fcca", name)
        shared[name] = shared_cells(gtre, fcca)
        together[name] = shared_cells([in_half_of_the_folds(gtre)], [in_half_of_the_folds(fcca)])
    numbers = (
        f"cells that GTRE and FCCA share, of those of either, mean over folds: {listed(shared, '.2f')} (in the figures: "
        f"{listed(together, '.2f')}); very similar: at least {VERY_SIMILAR_SETS:g}"
    )
    return everywhere(pd.Series(shared) >= VERY_SIMILAR_SETS, numbers)


def sets_get_much_smaller(results: Results) -> Verdict:
    """At the raised granularity."""
    share = results.mean("thresholds", "fcca", RAISED_Q) / results.mean("thresholds", "fcca", 0.0)
    numbers = f"thresholds left at Q = {RAISED_Q:g}: {listed(share, '.0%')}; much smaller: at most {MUCH_SMALLER:.0%}"
    return everywhere(share <= MUCH_SMALLER, numbers)


# --- What other sections say of the same figures --------------------------------------------------------------------------


def inconsistency_bounds_accuracy(results: Results) -> Verdict:
    """On whichever rows both were measured on."""
    pairs = (
        ("inconsistency", "held-out accuracy"),
        ("training inconsistency", "training accuracy"),
        ("test inconsistency", "accuracy"),
    )
    rows = results.rows[results.rows["classifier"].notna()]
    broken = {accuracy: int((rows[accuracy] > 1 - rows[rate] + ROUNDING).sum()) for rate, accuracy in pairs}
    equal = int((rows["training accuracy"] >= 1 - rows["training inconsistency"] - ROUNDING).sum())
    numbers = (
        f"{len(rows)} classifiers, on held-out, training and test rows: {listed(broken, 'd')} above the bound; "
        f"{equal} reach it on training rows"
    )
    return Verdict(sum(broken.values()) == 0, numbers)


def _path(results: Results) -> pd.DataFrame:
    lambdas = sorted(results.select("lambda0-path")["lambda0"].unique().tolist())
    if len(lambdas) < 2:
        raise NotMeasuredError("no rows of lambda0-path")
    return pd.DataFrame({value: results.mean("features", "lambda0-path", None, lambda0=value) for value in lambdas})


def _ends(path: pd.DataFrame) -> str:
    first, last = path.columns[0], path.columns[-1]
    ends = ", ".join(f"{name} {row[first]:.1f}→{row[last]:.1f}" for name, row in path.iterrows())
    return f"features with thresholds from λ0 = {first:g} to {last:g}: {ends}"


def lambda0_selects_features(results: Results) -> Verdict:
    """Whether fewer features get thresholds as λ0 rises."""
    path = _path(results)
    correlation = path.apply(lambda row: _rank_correlation(row, pd.Series(row.index, index=row.index)), axis=1)
    holds = (correlation <= PRINCIPLE) & (path.iloc[:, -1] < path.iloc[:, 0])
    numbers = f"{_ends(path)}; rank correlation {listed(correlation, '.2f')}; in principle: at most {PRINCIPLE:g}"
    return everywhere(holds, numbers)


def lambda0_moves_features_and_granularity_thresholds(results: Results) -> Verdict:
    """Whether λ0 changes the number of features, and Q lowers the number of thresholds."""
    path, counts = _path(results), _by_granularity(results, "thresholds")
    influences = (path.max(axis=1) - path.min(axis=1)) > 0
    controls = counts.iloc[:, -1] < counts.iloc[:, 0]
    thresholds = ", ".join(f"{name} {row.iloc[0]:.1f}→{row.iloc[-1]:.1f}" for name, row in counts.iterrows())
    words = f"{_ends(path)}; thresholds from Q = {counts.columns[0]:g} to {counts.columns[-1]:g}: {thresholds}"
    return everywhere(influences & controls, words)


def other_models_can_be_trained(results: Results) -> Verdict:
    """Whether naive Bayes and logistic regression on the columns are as good as the optimal tree."""
    tree = results.mean("accuracy", "fcca", 0.0, TREE)
    holds, words = pd.Series(True, index=tree.index), [f"optimal tree: {listed(tree)}"]
    for name in ("naive Bayes", "logistic regression"):
        found = results.mean("accuracy", "fcca", 0.0, name)
        holds &= found >= tree - USABLE
        words.append(f"{name}: {listed(found)}")
    return everywhere(holds, f"FCCA at Q = 0, {'; '.join(words)}; can be used: at most {USABLE:g} less")


def counterfactuals_are_fast(results: Results) -> Verdict:
    """Seconds per point, target not included."""
    rows = results.select("fcca", Q=0.0, classifier=CART)
    if rows.empty:
        raise NotMeasuredError("no rows of fcca")
    points = rows.filter(like="points ").sum(axis=1)
    milliseconds = (1e3 * rows["seconds"] / points).groupby(rows["dataset"], sort=False).mean()
    numbers = f"milliseconds a point, all of FCCA: {listed(milliseconds, '.2g')}; fast: less than {1e3 * IN_ORDER_OF:.0f}"
    return everywhere(milliseconds < 1e3 * IN_ORDER_OF, numbers)
