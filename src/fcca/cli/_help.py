"""What the commands say about themselves."""

DISTILL = """Find the few thresholds that a classifier's decisions hang on, and the provably best small tree on them.

A target model is fitted; for every training row that it gets right, the cheapest change that makes it answer otherwise is \
computed exactly; the thresholds those changes cross are counted.

Texts in the table are categories, empty fields are missing values; nothing has to be prepared. Numbers that are codes \
are named with --categorical.

Writes thresholds.csv, thresholds.json and counterfactuals.parquet, whose column [italic]row[/] is the row of the input \
table, counted from 0.

[bold]Examples[/]

[dim]# scikit-learn's breast-cancer data, the most frequent third of the thresholds[/]
[cyan]fcca distill --q 0.7[/]

[dim]# a table of your own[/]
[cyan]fcca distill loans.csv --label default --q 0.9 --out results[/]

[dim]# another target model, all rows for training[/]
[cyan]fcca distill loans.parquet --model logistic --test-size 0[/]

[dim]# codes that are categories, and rules that the changes keep, such as immutable: \\[age] in a file[/]
[cyan]fcca distill loans.csv --categorical region --categorical branch --rules rules.yaml[/]

[dim]# a model that is fitted already[/]
[cyan]fcca distill loans.csv --model-file booster.json[/]
"""
EXPLAIN = """Say what would have to change in a row for a classifier to answer otherwise: the cheapest change, proven.

A change stays inside the range of DATA, or of --reference where it is given. A column that moves goes into another of the \
cells between the model's cuts and lands there on the value of the data nearest to where it came from, or on the middle of \
the cell where the data has no value in it; a linear model has no cuts, and a change stops where its answer turns. What a \
change costs is counted in units of each column's range; from one category to another is a distance of 1.

[bold]Examples[/]

[dim]# what would get these applicants approved, three different ways each[/]
[cyan]fcca explain loans.skops loans.csv --rows 0,5,10-20 --target approved --n 3[/]

[dim]# with a probability of at least 80 %, as a table[/]
[cyan]fcca explain booster.json loans.parquet --rows 17 --target 1 --target-probability 0.8 --out changes.csv[/]

[dim]# changes that somebody can make: rules.yaml says immutable: \\[age], max_changes: 2 and so on[/]
[cyan]fcca explain loans.skops loans.csv --rows 17 --rules rules.yaml[/]

[dim]# new applicants, whose changes keep to the range of the training data[/]
[cyan]fcca explain loans.skops new.csv --reference loans.csv --target approved[/]
"""
EPILOG = (
    "Exit codes: 0 done; 1 the files could not be written; 2 data or options cannot be used; 3 done, but some "
    "counterfactuals do not flip the model's own predict; 130 interrupted."
)
