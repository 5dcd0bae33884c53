"""Sentences of the paper's section "Results", in order, and sentences of other sections on the same figures."""

from __future__ import annotations

from experiments import claims, other_targets
from experiments.measure import TREE_DEPTH
from experiments.methods import GRANULARITIES
from experiments.verdicts import Claim, setting

ACCURACY, RATES, SPARSITY, METHOD = "Accuracy", "Compression and Inconsistency Rate", "Sparsity", "Other sections"
_FIGURES_HERE = setting("the page shows these figures")

CLAIMS: tuple[Claim, ...] = (
    Claim(
        ACCURACY,
        "In this section, we analyze the results obtained in our experiments in terms of accuracy, sparsity, compression "
        "rate and inconsistency rate.",
        setting("the page has this analysis, too"),
    ),
    Claim(
        ACCURACY,
        "In Figure accuracy we present the results in terms of accuracy on the benchmark datasets obtained by training both "
        "CART and GOSDT on the initial dataset with continuous features, the dataset discretized with the GTRE procedure, "
        "and the dataset discretized with the FCCA procedure at different levels of quantile Q.",
        setting(
            f"instead of GOSDT, fcca's optimal tree of depth {TREE_DEPTH} with the paper's regularization of 10/n; "
            f"Q = {', '.join(f'{Q:g}' for Q in GRANULARITIES)}"
        ),
        "accuracy",
    ),
    Claim(
        ACCURACY,
        "Please note that it is not possible to apply the GOSDT approach directly to the dataset with continuous features: "
        "in this case, it would, in fact, be necessary to introduce a threshold in the middle of any two consecutive data "
        "points for each feature; the resulting dataset is too big, and it is thus not affordable to compute GOSDT.",
        claims.midpoints_are_not_affordable,
        "accuracy",
    ),
    Claim(
        ACCURACY,
        "In all datasets, we can notice that using a discretization technique is beneficial because it allows us to compute "
        "the optimal tree with the GOSDT algorithm;",
        claims.trees_are_proven,
        "accuracy",
    ),
    Claim(ACCURACY, "using this algorithm results in a more robust […]", claims.optimal_is_more_robust, "accuracy"),
    Claim(
        ACCURACY,
        "[…] accurate […] decision tree with respect to the heuristic CART.",
        claims.optimal_is_more_accurate,
        "accuracy",
    ),
    Claim(
        ACCURACY,
        "[…] and sparse (Figure n_features) decision tree with respect to the heuristic CART.",
        claims.optimal_is_sparser,
        "features",
    ),
    Claim(
        ACCURACY,
        "Combining GOSDT with the two discretization techniques GTRE and FCCA for Q=0 achieves similar performance on all "
        "datasets;",
        claims.gtre_and_fcca_are_as_accurate,
        "accuracy",
    ),
    Claim(
        ACCURACY,
        "increasing the value of Q to 0.7 preserves a high accuracy level on almost all datasets, […]",
        claims.accuracy_is_kept,
        "accuracy",
    ),
    Claim(ACCURACY, "[…] except for magic.", claims.exception_loses_accuracy, "accuracy"),
    Claim(
        RATES,
        "In Figures compression and inconsistency, we plot respectively the compression rate η and the inconsistency rate δ "
        "of the initial dataset with continuous features, the dataset discretized with the GTRE procedure, and the dataset "
        "discretized with the FCCA procedure at different levels of quantile Q.",
        _FIGURES_HERE,
        "compression",
    ),
    Claim(
        RATES,
        "On all datasets, we can notice that the initial dataset with continuous features has zero compression and zero "
        "inconsistency, […]",
        claims.continuous_has_zero_rates,
        "compression",
    ),
    Claim(
        RATES,
        "[…] while both GTRE and FCCA have a significant compression rate […]",
        claims.compression_is_significant,
        "compression",
    ),
    Claim(
        RATES,
        "[…] that, as a downside, leads to a non-zero inconsistency.",
        claims.inconsistency_is_not_zero,
        "inconsistency",
    ),
    Claim(
        RATES,
        "For Q=0, the compression and inconsistency rates of FCCA are very similar to the ones obtained by GTRE.",
        claims.rates_are_similar,
        "compression",
    ),
    Claim(
        RATES,
        "In the FCCA procedure, compression and inconsistency rates are proportional to the quantile value Q.",
        claims.rates_rise_with_granularity,
        "compression",
    ),
    Claim(
        RATES,
        "In fact, when Q tends to 1, also the compression rate η tends to 1.",
        claims.compression_tends_to_one,
        "compression",
    ),
    Claim(
        RATES,
        "A high compression rate is positive because implies that we are able to summarize the data using information at a "
        "low granularity.",
        setting("explains why the compression rate is measured"),
        "compression",
    ),
    Claim(
        RATES,
        "Therefore it is easier to build a small and interpretable decision tree for learning the input-output relationship "
        "of this representation of the dataset.",
        claims.trees_get_easier,
        "compression",
    ),
    Claim(
        RATES,
        "As a downside, however, also the inconsistency rate increases when Q tends to 1.",
        claims.inconsistency_rises,
        "inconsistency",
    ),
    Claim(
        RATES,
        "The trade-off between compression rate and inconsistency rate can help us in deciding whether it is possible to "
        "increase the level of Q in order to obtain a more sparse dataset without affecting accuracy.",
        claims.inconsistency_tells_lost_accuracy,
        "inconsistency",
    ),
    Claim(
        RATES,
        "In fact, in all datasets except for magic we can observe that increasing Q to 0.7 leads to an acceptable level of "
        "inconsistency when compared to the accuracy level that is generally reached on that dataset.",
        claims.inconsistency_is_acceptable,
        "inconsistency",
    ),
    Claim(
        RATES,
        "On the contrary, on magic the inconsistency rate is quite high already for Q=0, […]",
        claims.exception_is_inconsistent_at_once,
        "inconsistency",
    ),
    Claim(RATES, "[…] and it arrives at almost 20% for Q=0.7: […]", claims.exception_reaches_20_percent, "inconsistency"),
    Claim(
        RATES,
        "[…] for this reason, for Q=0.7 we record a decrease in the accuracy (Figure acc_magic).",
        claims.exception_decreases,
        "inconsistency",
    ),
    Claim(
        SPARSITY,
        "As already stated, increasing the value of Q in the FCCA procedure leads to selecting the thresholds that, "
        "according to the Counterfactual Analysis, are more relevant in describing the input-output relationship.",
        setting("these are the thresholds crossed most often, by definition"),
        "thresholds",
    ),
    Claim(
        SPARSITY,
        "The discretized dataset derived is thus smaller because it is described through a smaller set of binary features.",
        claims.thresholds_shrink,
        "thresholds",
    ),
    Claim(
        SPARSITY,
        "If Q is too high, we can lose the ability to represent the input-output relationship, ending up building "
        "low-performance surrogate classification models.",
        claims.too_high_granularity_hurts,
        "accuracy",
    ),
    Claim(
        SPARSITY,
        "In our previous analysis, we observed that Q=0.7 is a good value in almost all of the benchmark datasets "
        "considered.",
        claims.raised_granularity_is_good,
        "accuracy",
    ),
    Claim(
        SPARSITY,
        "In Figures thresholds_boston-thresholds_vehicle, we analyze the thresholds extracted by the FCCA procedure at "
        "different levels of Q and compare them to the thresholds extracted by the GTRE procedure. In these figures, we "
        "represent the thresholds extracted by each discretization procedure through a heatmap. For the FCCA procedure, the "
        "heatmap also represents the quantile.",
        _FIGURES_HERE,
        "thresholds",
    ),
    Claim(
        SPARSITY,
        "Please note that thresholds that appear at a certain quantile also appear at lower levels of quantiles.",
        claims.granularities_are_nested,
        "thresholds",
    ),
    Claim(
        SPARSITY,
        "We can notice that the heatmaps obtained through the GTRE procedure and the ones obtained through the FCCA with "
        "Q=0 are very similar, meaning that the two approaches extract very similar sets of thresholds.",
        claims.heat_maps_are_similar,
        "thresholds",
    ),
    Claim(
        SPARSITY,
        "When Q grows, instead, the set of thresholds extracted by the FCCA procedure is much smaller.",
        claims.sets_get_much_smaller,
        "thresholds",
    ),
    *other_targets.CLAIMS,
    Claim(
        METHOD,
        "[Discretization effectiveness] The inconsistency rate represents an irreducible error; thus, 1-δ is an upper bound "
        "to the accuracy that any classifier built on the discretized dataset is able to achieve.",
        claims.inconsistency_bounds_accuracy,
        "inconsistency",
    ),
    Claim(
        METHOD,
        "[Method] Note that increasing parameter λ0 in the cost function results in principle in selecting the most "
        "important features.",
        claims.lambda0_selects_features,
        "lambda0",
    ),
    Claim(
        METHOD,
        "[Discretization effectiveness] the parameter λ0 in the cost function influences the number of features involved in "
        "the discretization (feature sparsity), whereas the parameter Q controls the number of thresholds involved across "
        "all the features (threshold sparsity).",
        claims.lambda0_moves_features_and_granularity_thresholds,
        "lambda0",
    ),
    Claim(
        METHOD,
        "[Introduction] The reduced dataset can be used to train other machine learning models.",
        claims.other_models_can_be_trained,
        "all methods",
    ),
    Claim(
        METHOD,
        "[Experimental Setup] solving problem (CE_obj)-(CE_actionability) is extremely fast (order of 10^-2 seconds).",
        claims.counterfactuals_are_fast,
        "table 2",
    ),
)
