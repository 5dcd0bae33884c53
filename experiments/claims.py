"""Check each sentence of the paper's section "Results" against the tidy rows.

The section gives no numbers, and the source of the paper does not contain its images. So the constants define what
words such as "similar" mean. A sentence with several claims is divided into clauses.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from experiments.measure import MOST_COLUMNS, TREE_DEPTH, TREE_SECONDS
from experiments.rows import ROUNDING, NotMeasuredError, Results, in_half_of_the_folds, shared_cells
from experiments.verdicts import Verdict, almost_everywhere, everywhere, listed

CART, TREE = "cart", "optimal tree"
#: The discretizations for which the sentences about CART and the optimal tree are checked.
DISCRETIZED = {"GTRE": ("gtre", None), "FCCA": ("fcca", 0.0)}
RAISED_Q = 0.7  # the paper's higher granularity
EXCEPTION = "magic"  # the data set that the paper names as an exception

SIMILAR_ACCURACY = 0.02  # "similar performance": means at most this far apart
KEPT_ACCURACY = 0.02  # "preserves a high accuracy level": at most this much lower than at Q = 0
ALMOST_ALL = 1  # "almost all datasets": all but this many
NOTHING = 0.001  # "zero" means less than one row in a thousand, "non-zero" at least one in a thousand
SIGNIFICANT_COMPRESSION = 0.05  # "significant": at least one row in twenty repeats another row
VERY_SIMILAR_RATE = 0.05  # "very similar" rates are at most this far apart
NEAR_ONE = 0.9  # "tends to 1": at least this at the highest measured Q
RISE_MATTERS = 0.5  # "can help us in deciding": at least this rank correlation of inconsistency and lost accuracy
QUITE_HIGH = 0.05  # "quite high" inconsistency: at least this, and the highest of all data sets
ALMOST_20_PERCENT = (0.18, 0.21)
VERY_SIMILAR_SETS = 0.75  # "very similar" sets of thresholds share at least this part of the cells of their heat maps
MUCH_SMALLER = 0.5  # "much smaller": at most this share of the thresholds at Q = 0
PRINCIPLE = -0.5  # "in principle": the rank correlation of λ0 and the number of features is at most this
USABLE = 0.02  # "can be used to train other models": at most this much less accurate than the optimal tree
IN_ORDER_OF = 10**-1.5  # "order of 10^-2 seconds": less than this


# --- Accuracy -------------------------------------------------------------------------------------------------------------


def midpoints_are_not_affordable(results: Results) -> Verdict:
    """Check that no tree on all midpoints was proven optimal, in the cases where the search was tried."""
    columns = results.mean("thresholds", "midpoints")
    tried = results.select("midpoints", classifier=TREE)
    numbers = f"number of thresholds between neighbouring values: {listed(columns, '.0f')}; "
    if tried.empty:
        raise NotMeasuredError(f"{numbers}no search for an optimal tree: all tables have more than {MOST_COLUMNS:,} columns")
    proven = tried.groupby("dataset", sort=False)["proven"].apply(lambda values: values.astype(bool).mean())
    seconds = tried.groupby("dataset", sort=False)["seconds classifier"].mean()
    numbers += (
        f"searches of at most {TREE_SECONDS:g} s on tables with up to {MOST_COLUMNS:,} columns; "
        f"share of folds with a proven tree: {listed(proven, '.0%')} (seconds: {listed(seconds, '.1f')})"
    )
    return Verdict(bool((proven == 0).all()), numbers)


def trees_are_proven(results: Results) -> Verdict:
    """Check that every optimal tree on the discretized tables is proven optimal."""
    proven = pd.DataFrame(
        {name: results.mean("proven", method, Q, TREE).astype(float) for name, (method, Q) in DISCRETIZED.items()}
    )
    seconds = results.mean("seconds classifier", "fcca", 0.0, TREE)
    numbers = (
        f"share of trees of depth {TREE_DEPTH} proven optimal, the smaller of GTRE and FCCA: "
        f"{listed(proven.min(axis=1), '.0%')}; seconds with FCCA: {listed(seconds, '.2f')}"
    )
    return everywhere((proven == 1).all(axis=1), numbers)


def _against_cart(results: Results, column: str, form: str, more: bool) -> Verdict:
    """Check that the optimal tree is better than CART on all data sets.

    CART is fitted on the same binary columns and on the continuous features. ``more`` is True if higher values are better.
    """
    heuristic = results.mean(column, "continuous", None, CART)
    holds, words = pd.Series(True, index=heuristic.index), [f"CART on continuous features: {listed(heuristic, form)}"]
    for name, (method, Q) in DISCRETIZED.items():
        optimal, cart = results.mean(column, method, Q, TREE), results.mean(column, method, Q, CART)
        better = (optimal > cart) & (optimal > heuristic) if more else (optimal < cart) & (optimal < heuristic)
        holds &= better.reindex(holds.index, fill_value=False)
        words += [f"optimal tree on {name}: {listed(optimal, form)}", f"CART on {name}: {listed(cart, form)}"]
    return everywhere(holds, "; ".join(words))


def optimal_is_more_accurate(results: Results) -> Verdict:
    """Check that the optimal tree has a higher mean accuracy than CART."""
    return _against_cart(results, "accuracy", ".3f", more=True)


def optimal_is_sparser(results: Results) -> Verdict:
    """Check that the optimal tree uses fewer features than CART on average."""
    return _against_cart(results, "classifier features", ".1f", more=False)


def optimal_is_more_robust(results: Results) -> Verdict:
    """Check that the optimal tree's accuracy varies less over folds than that of CART on continuous features."""
    cart = results.folds("accuracy", "continuous", None, CART)
    if cart.shape[1] < 2:
        raise NotMeasuredError("one fold only, so the variation over folds is unknown")
    heuristic = cart.std(axis=1, ddof=1)
    found = {
        name: results.folds("accuracy", method, Q, TREE).std(axis=1, ddof=1) for name, (method, Q) in DISCRETIZED.items()
    }
    words = "; ".join(f"optimal tree on {name}: {listed(values)}" for name, values in found.items())
    holds = pd.DataFrame(found).lt(heuristic, axis=0).all(axis=1)
    return everywhere(holds, f"standard deviation of the accuracy over folds: CART {listed(heuristic)}; {words}")


def gtre_and_fcca_are_as_accurate(results: Results) -> Verdict:
    """Check that the optimal trees on GTRE and FCCA have similar accuracies."""
    gtre, fcca = results.mean("accuracy", "gtre", None, TREE), results.mean("accuracy", "fcca", 0.0, TREE)
    numbers = f"optimal tree on GTRE: {listed(gtre)}; on FCCA: {listed(fcca)}; similar: at most {SIMILAR_ACCURACY:g} apart"
    return everywhere((gtre - fcca).abs() <= SIMILAR_ACCURACY, numbers)


def _lost(results: Results, Q: float) -> pd.Series:
    return results.mean("accuracy", "fcca", 0.0, TREE) - results.mean("accuracy", "fcca", Q, TREE)


def accuracy_is_kept(results: Results) -> Verdict:
    """Check that the optimal tree loses little accuracy at the raised Q, on almost all data sets."""
    lost = _lost(results, RAISED_Q)
    numbers = f"accuracy lost from Q = 0 to {RAISED_Q:g}: {listed(lost, '+.3f')}; allowed: at most {KEPT_ACCURACY:g}"
    return almost_everywhere(lost <= KEPT_ACCURACY, ALMOST_ALL, numbers)


def _of_exception(values: pd.Series) -> float:
    if EXCEPTION not in values.index:
        raise NotMeasuredError(f"{EXCEPTION} is not in this study")
    return float(values[EXCEPTION])


def exception_loses_accuracy(results: Results) -> Verdict:
    """Check that the exception, magic, loses more accuracy than is allowed for the other data sets."""
    lost = _of_exception(_lost(results, RAISED_Q))
    return Verdict(lost > KEPT_ACCURACY, f"{EXCEPTION} loses {lost:+.3f}; allowed: at most {KEPT_ACCURACY:g}")


# --- Compression and inconsistency ----------------------------------------------------------------------------------------


def continuous_has_zero_rates(results: Results) -> Verdict:
    """Check that compression and inconsistency are almost zero for continuous features."""
    compression, inconsistency = (results.mean(rate, "continuous") for rate in ("compression", "inconsistency"))
    holds = (compression < NOTHING) & (inconsistency < NOTHING)
    return everywhere(holds, f"compression: {listed(compression, '.4f')}; inconsistency: {listed(inconsistency, '.4f')}")


def _rates(results: Results, rate: str) -> pd.DataFrame:
    return pd.DataFrame({name: results.mean(rate, method, Q) for name, (method, Q) in DISCRETIZED.items()})


def _rates_in_words(rates: pd.DataFrame) -> str:
    return "; ".join(f"{name}: {listed(rates[name])}" for name in rates)


def compression_is_significant(results: Results) -> Verdict:
    """Check that GTRE and FCCA have a significant compression."""
    rates = _rates(results, "compression")
    numbers = f"{_rates_in_words(rates)}; significant: at least {SIGNIFICANT_COMPRESSION:g}"
    return everywhere((rates >= SIGNIFICANT_COMPRESSION).all(axis=1), numbers)


def inconsistency_is_not_zero(results: Results) -> Verdict:
    """Check that GTRE and FCCA have a non-zero inconsistency."""
    rates = _rates(results, "inconsistency")
    return everywhere((rates >= NOTHING).all(axis=1), f"{_rates_in_words(rates)}; not zero: at least {NOTHING:g}")


def rates_are_similar(results: Results) -> Verdict:
    """Check that GTRE and FCCA have similar compression and similar inconsistency."""
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
    """Check that both rates are "proportional" to Q: they never fall, and end higher than they began."""
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
    """Check that the compression never falls with Q, and is near 1 at the highest Q."""
    rates = _by_granularity(results, "compression")
    last = rates.iloc[:, -1]
    numbers = f"at Q = {rates.columns[-1]:g}: {listed(last)}; near 1: at least {NEAR_ONE:g}"
    return everywhere(_never_falls(rates) & (last >= NEAR_ONE), numbers)


def trees_get_easier(results: Results) -> Verdict:
    """Check that the trees at the raised Q are proven, and have no more leaves and features than at Q = 0.

    The milliseconds are shown, but they are too short to decide the claim.
    """
    columns = ("leaves", "classifier features", "proven", "seconds classifier")
    before, after = ({column: results.mean(column, "fcca", Q, TREE) for column in columns} for Q in (0.0, RAISED_Q))
    smaller = (after["leaves"] <= before["leaves"]) & (after["classifier features"] <= before["classifier features"])
    numbers = "; ".join(
        f"Q = {Q:g}: {listed(found['leaves'], '.1f')} leaves, {listed(found['classifier features'], '.1f')} features, "
        f"{listed(1e3 * found['seconds classifier'], '.0f')} ms"
        for Q, found in ((0.0, before), (RAISED_Q, after))
    )
    meaning = "easier: the tree is proven optimal; small: no more leaves and features than at Q = 0"
    return everywhere(smaller & (after["proven"] == 1), f"optimal tree at {numbers}; {meaning}")


def inconsistency_rises(results: Results) -> Verdict:
    """Check that the inconsistency is higher at the highest Q than at the lowest."""
    rates = _by_granularity(results, "inconsistency")
    first, last = rates.iloc[:, 0], rates.iloc[:, -1]
    return everywhere(last > first, f"Q = {rates.columns[0]:g}: {listed(first)}; Q = {rates.columns[-1]:g}: {listed(last)}")


def inconsistency_tells_lost_accuracy(results: Results) -> Verdict:
    """Check that a larger rise of inconsistency since Q = 0 comes with a larger loss of accuracy.

    The rank correlation is computed over all pairs of a data set and a value of Q.
    """
    rates, accuracies = _by_granularity(results, "inconsistency"), _by_granularity(results, "accuracy", TREE)
    gained = rates.sub(rates[0.0], axis=0).drop(columns=0.0).melt()["value"]
    lost = (-accuracies.sub(accuracies[0.0], axis=0)).drop(columns=0.0).melt()["value"]
    correlation = _rank_correlation(gained, lost)
    numbers = f"rank correlation {correlation:.2f} over {len(gained)} pairs (data set, Q); helps: at least {RISE_MATTERS:g}"
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
    """Check that the inconsistency is acceptable on all data sets except magic, and not acceptable on magic."""
    acceptable, words = _acceptable(results)
    expected = pd.Series([name != EXCEPTION for name in acceptable.index], index=acceptable.index)
    return everywhere(acceptable == expected, words)


def exception_is_inconsistent_at_once(results: Results) -> Verdict:
    """Check that the inconsistency of magic at Q = 0 is high, and the highest of all data sets."""
    rates = results.mean("inconsistency", "fcca", 0.0)
    rate = _of_exception(rates)
    numbers = f"Q = 0: {listed(rates)}; quite high: at least {QUITE_HIGH:g}, and the highest"
    return Verdict(rate >= QUITE_HIGH and rate == float(rates.max()), numbers)


def exception_reaches_20_percent(results: Results) -> Verdict:
    """Check that the inconsistency of magic is almost 20 % at the raised Q."""
    rate = _of_exception(results.mean("inconsistency", "fcca", RAISED_Q))
    low, high = ALMOST_20_PERCENT
    return Verdict(low <= rate <= high, f"{EXCEPTION} {rate:.3f}; almost 20 %: {low:g} to {high:g}")


def exception_decreases(results: Results) -> Verdict:
    """Check that the accuracy on magic is lower at the raised Q, by any amount."""
    before, after = (_of_exception(results.mean("accuracy", "fcca", Q, TREE)) for Q in (0.0, RAISED_Q))
    return Verdict(after < before, f"optimal tree on {EXCEPTION}: {before:.3f} at Q = 0, {after:.3f} at Q = {RAISED_Q:g}")


# --- Sparsity -------------------------------------------------------------------------------------------------------------


def thresholds_shrink(results: Results) -> Verdict:
    """Check that the number of thresholds never rises with Q, and ends lower than it began."""
    counts = _by_granularity(results, "thresholds")
    numbers = f"Q = 0: {listed(counts.iloc[:, 0], '.1f')}; Q = {counts.columns[-1]:g}: {listed(counts.iloc[:, -1], '.1f')}"
    return everywhere(_never_falls(-counts), f"thresholds at {numbers}")


def too_high_granularity_hurts(results: Results) -> Verdict:
    """Check that the highest Q costs too much accuracy on at least one data set."""
    if not results.granularities:
        raise NotMeasuredError("FCCA was not run")
    highest = results.granularities[-1]
    lost = _lost(results, highest)
    numbers = f"accuracy lost from Q = 0 to {highest:g}: {listed(lost, '+.3f')}; too much: above {KEPT_ACCURACY:g}"
    return Verdict(bool((lost > KEPT_ACCURACY).any()), numbers)


def raised_granularity_is_good(results: Results) -> Verdict:
    """Check that the raised Q keeps the accuracy, with an acceptable inconsistency, on almost all data sets."""
    acceptable, words = _acceptable(results)
    lost = _lost(results, RAISED_Q)
    good = (lost <= KEPT_ACCURACY) & acceptable
    return almost_everywhere(good, ALMOST_ALL, f"accuracy lost: {listed(lost, '+.3f')}; {words}")


def granularities_are_nested(results: Results) -> Verdict:
    """Check that the thresholds kept at a Q are also kept at every lower Q, in every fold.

    For each Q, the number of thresholds that survive up to this Q is compared with the number of thresholds kept.
    """
    fcca = results.select("fcca", classifier=CART)
    survives = fcca[fcca["threshold survives"].notna()].set_index(["dataset", "fold"])["threshold survives"]
    if survives.empty:
        raise NotMeasuredError("no thresholds of fcca")
    wrong = sum(
        int(np.sum(np.asarray(survives[row["dataset"], row["fold"]]) >= row["Q"] - ROUNDING)) != row["thresholds"]
        for _, row in fcca.iterrows()
    )
    numbers = f"true for {len(fcca) - wrong} of {len(fcca)} combinations of data set, fold and Q"
    return Verdict(wrong == 0, numbers)


def heat_maps_are_similar(results: Results) -> Verdict:
    """Check that the heat maps of GTRE and FCCA share most of their cells in each fold."""
    shared, together = {}, {}
    for name in results.datasets:
        gtre, fcca = results.heat_maps("gtre", name), results.heat_maps("fcca", name)
        shared[name] = shared_cells(gtre, fcca)
        together[name] = shared_cells([in_half_of_the_folds(gtre)], [in_half_of_the_folds(fcca)])
    numbers = (
        f"share of the cells of GTRE or FCCA that both have, mean over folds: {listed(shared, '.2f')} (in the figures: "
        f"{listed(together, '.2f')}); very similar: at least {VERY_SIMILAR_SETS:g}"
    )
    return everywhere(pd.Series(shared) >= VERY_SIMILAR_SETS, numbers)


def sets_get_much_smaller(results: Results) -> Verdict:
    """Check that far fewer thresholds are kept at the raised Q than at Q = 0."""
    share = results.mean("thresholds", "fcca", RAISED_Q) / results.mean("thresholds", "fcca", 0.0)
    numbers = f"thresholds kept at Q = {RAISED_Q:g}: {listed(share, '.0%')}; much smaller: at most {MUCH_SMALLER:.0%}"
    return everywhere(share <= MUCH_SMALLER, numbers)


# --- Sentences of other sections about the same figures -------------------------------------------------------------------


def inconsistency_bounds_accuracy(results: Results) -> Verdict:
    """Check that no accuracy is above 1 − δ, where both were measured on the same rows."""
    pairs = (
        ("inconsistency", "held-out accuracy"),
        ("training inconsistency", "training accuracy"),
        ("test inconsistency", "accuracy"),
    )
    rows = results.rows[results.rows["classifier"].notna()]
    broken = {accuracy: int((rows[accuracy] > 1 - rows[rate] + ROUNDING).sum()) for rate, accuracy in pairs}
    equal = int((rows["training accuracy"] >= 1 - rows["training inconsistency"] - ROUNDING).sum())
    numbers = (
        f"{len(rows)} classifiers; number above the bound: {listed(broken, 'd')}; {equal} reach the bound on training rows"
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
    """Check that fewer features have thresholds as λ0 rises."""
    path = _path(results)
    correlation = path.apply(lambda row: _rank_correlation(row, pd.Series(row.index, index=row.index)), axis=1)
    holds = (correlation <= PRINCIPLE) & (path.iloc[:, -1] < path.iloc[:, 0])
    numbers = f"{_ends(path)}; rank correlation {listed(correlation, '.2f')}; in principle: at most {PRINCIPLE:g}"
    return everywhere(holds, numbers)


def lambda0_moves_features_and_granularity_thresholds(results: Results) -> Verdict:
    """Check that λ0 changes the number of features, and that a higher Q lowers the number of thresholds."""
    path, counts = _path(results), _by_granularity(results, "thresholds")
    influences = (path.max(axis=1) - path.min(axis=1)) > 0
    controls = counts.iloc[:, -1] < counts.iloc[:, 0]
    thresholds = ", ".join(f"{name} {row.iloc[0]:.1f}→{row.iloc[-1]:.1f}" for name, row in counts.iterrows())
    words = f"{_ends(path)}; thresholds from Q = {counts.columns[0]:g} to {counts.columns[-1]:g}: {thresholds}"
    return everywhere(influences & controls, words)


def other_models_can_be_trained(results: Results) -> Verdict:
    """Check that naive Bayes and logistic regression on the binary columns are as good as the optimal tree."""
    tree = results.mean("accuracy", "fcca", 0.0, TREE)
    holds, words = pd.Series(True, index=tree.index), [f"optimal tree: {listed(tree)}"]
    for name in ("naive Bayes", "logistic regression"):
        found = results.mean("accuracy", "fcca", 0.0, name)
        holds &= found >= tree - USABLE
        words.append(f"{name}: {listed(found)}")
    return everywhere(holds, f"accuracy with FCCA at Q = 0, {'; '.join(words)}; can be used: at most {USABLE:g} lower")


def counterfactuals_are_fast(results: Results) -> Verdict:
    """Check that FCCA takes about 10⁻² seconds per row, without the fit of the target model."""
    rows = results.select("fcca", Q=0.0, classifier=CART)
    if rows.empty:
        raise NotMeasuredError("no rows of fcca")
    points = rows.filter(like="points ").sum(axis=1)
    milliseconds = (1e3 * rows["seconds"] / points).groupby(rows["dataset"], sort=False).mean()
    numbers = f"milliseconds of FCCA per row: {listed(milliseconds, '.2g')}; fast: less than {1e3 * IN_ORDER_OF:.0f}"
    return everywhere(milliseconds < 1e3 * IN_ORDER_OF, numbers)
