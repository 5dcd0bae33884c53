"""Arguments and options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fcca.cli._options import (
    CERTIFICATE,
    COUNTERFACTUALS,
    DEPTH,
    FOREST_DEPTH,
    LARGEST_SAMPLE,
    ROUNDS,
    STREAMED_FROM,
    FitTo,
    TargetModel,
)

DATA, MODEL, SEARCH, QUESTION = "Data and files", "Model and tree", "Counterfactuals and thresholds", "What to ask"
LARGE = "Large tables"
MODEL_FILES = ".skops; .json or .ubj of XGBoost; .txt of LightGBM; .cbm or .json of CatBoost."

# --- data and files -----------------------------------------------------------------------------------------------------

Table = Annotated[
    Path | None,
    typer.Argument(
        metavar="DATA",
        help="Table to learn from: .csv, .csv.gz or .parquet, with one label column. Texts are categories, empty fields "
        "are missing values. Without it: scikit-learn's breast-cancer data.",
        show_default=False,
    ),
]
ModelArgument = Annotated[
    Path, typer.Argument(metavar="MODEL", help=f"The fitted classifier: {MODEL_FILES}", show_default=False)
]
Label = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="Label column. Without it: the column named label, target, class or y.",
        show_default=False,
        rich_help_panel=DATA,
    ),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COL",
        help="Column that holds categories although they look like numbers; may be given several times.",
        show_default=False,
        rich_help_panel=DATA,
    ),
]
Open = Annotated[bool, typer.Option("--open", help="Open the report in the browser.", rich_help_panel=DATA)]
Title = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="Title of the report.", show_default=False, rich_help_panel=DATA),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.", rich_help_panel=DATA)]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.", rich_help_panel=DATA)]

# --- large tables -------------------------------------------------------------------------------------------------------

Stream = Annotated[
    bool | None,
    typer.Option(
        "--stream/--no-stream",
        help="Read a .parquet file in pieces, in little memory, or whole; with the same --sample, the results are the same. "
        f"Default: in pieces from {STREAMED_FROM:,} values on (rows × columns).",
        show_default=False,
        rich_help_panel=LARGE,
    ),
]
Sample = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Fit the black box on so many of the training rows, drawn by --seed; all of them make thresholds and tree. "
        f"Default: all rows, or {LARGEST_SAMPLE:,} where the file is read in pieces.",
        show_default=False,
        rich_help_panel=LARGE,
    ),
]
NoCounterfactuals = Annotated[
    bool,
    typer.Option(
        "--no-counterfactuals",
        help=f"Write neither {COUNTERFACTUALS} nor {CERTIFICATE}, which has them, too.",
        rich_help_panel=LARGE,
    ),
]

# --- model and tree -----------------------------------------------------------------------------------------------------

Model = Annotated[
    TargetModel | None,
    typer.Option(
        metavar="NAME",
        help=f"What to fit and distill: {ROUNDS} boosted stumps (gb, the default); a random forest of {ROUNDS} trees of "
        f"depth {FOREST_DEPTH} (rf); boosting with {ROUNDS} rounds of trees of depth {DEPTH} by scikit-learn (hgb), "
        "XGBoost (xgb), LightGBM (lgbm) or CatBoost (catboost); a linear SVM (svm) or logistic regression (logistic).",
        show_default=False,
        rich_help_panel=MODEL,
    ),
]
Depth = Annotated[int, typer.Option(help="Depth of the decision tree.", rich_help_panel=MODEL)]
Regularization = Annotated[
    float | None,
    typer.Option(
        help="Price of a leaf, as a share of the rows: what it has to make right to be there; default: 10 / rows.",
        rich_help_panel=MODEL,
    ),
]
Fit = Annotated[
    FitTo, typer.Option(help="Whether the tree learns the labels or the black box's answers.", rich_help_panel=MODEL)
]
Seed = Annotated[int, typer.Option(help="Seed of the split, the sample, the model and the tree.", rich_help_panel=MODEL)]

# --- counterfactuals and thresholds -------------------------------------------------------------------------------------

Granularity = Annotated[
    float,
    typer.Option(
        "--q", help="Keep thresholds crossed at least as often as this quantile of all counts.", rich_help_panel=SEARCH
    ),
]
Thresholds = Annotated[
    str | None,
    typer.Option(
        metavar="INT|auto",
        help="Give the tree so many of the thresholds that --q keeps: those of least inconsistency, proven. auto: as few as "
        "cross-validation allows.",
        show_default=False,
        rich_help_panel=SEARCH,
    ),
]
P0 = Annotated[
    float, typer.Option("--p0", help="Ask for rows predicted with at least this probability.", rich_help_panel=SEARCH)
]
P1 = Annotated[
    float, typer.Option("--p1", help="Ask for rows predicted with at most this probability.", rich_help_panel=SEARCH)
]
Lambda0 = Annotated[float, typer.Option("--lambda0", help="Cost of a change, per column moved.", rich_help_panel=SEARCH)]
Lambda1 = Annotated[
    float, typer.Option("--lambda1", help="Cost per distance, in units of the column's range.", rich_help_panel=SEARCH)
]
Lambda2 = Annotated[float, typer.Option("--lambda2", help="Cost per squared distance.", rich_help_panel=SEARCH)]
Margin = Annotated[float, typer.Option(help="Score by which the model must answer the other class.", rich_help_panel=SEARCH)]
DecisionThreshold = Annotated[
    float | None,
    typer.Option(
        metavar="P",
        help="Two classes: answer the second from this probability on, instead of the model's own decision.",
        show_default=False,
        rich_help_panel=SEARCH,
    ),
]
MergeTolerance = Annotated[
    str,
    typer.Option(
        metavar="auto|FLOAT", help="Merge thresholds closer than this share of the column's range.", rich_help_panel=SEARCH
    ),
]
NoRound = Annotated[
    bool, typer.Option("--no-round", help="Keep the model's own numbers as thresholds.", rich_help_panel=SEARCH)
]
Jobs = Annotated[
    int, typer.Option(help="Threads, -1 for all cores; the result does not depend on it.", rich_help_panel=SEARCH)
]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="Time for all searches of rows together, as much for the choice of --thresholds (with auto, in each of five "
        "folds, too), and as much for the tree; the best found by then counts.",
        show_default=False,
        rich_help_panel=SEARCH,
    ),
]
TimeLimitOfRows = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", help="Time for all searches together.", show_default=False, rich_help_panel=SEARCH),
]
TimeLimitPerRow = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", help="Time for each search of a row.", show_default=False, rich_help_panel=SEARCH),
]
RulesFile = Annotated[
    Path | None,
    typer.Option(
        "--rules",
        metavar="FILE",
        help="Rules that the changes keep, in YAML: what may not change, bounds, steps, which columns hang together.",
        show_default=False,
        rich_help_panel=SEARCH,
    ),
]
