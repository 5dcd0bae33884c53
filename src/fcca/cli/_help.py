"""What the commands say about themselves."""

DISTILL = """Find the few thresholds that a classifier's decisions hang on, and the provably best small tree on them.

A model, the black box, is fitted; for every training row that it gets right, the cheapest change that makes it answer \
otherwise is computed exactly; the thresholds those changes cross are counted.

Texts in the table are categories, empty fields are missing values; nothing has to be prepared. Numbers that are codes \
are named with --categorical.

Writes report.html, a page to look at; thresholds.csv and thresholds.json; tree.json, which [italic]fcca export[/] turns \
into code; certificate.json, which [italic]fcca verify[/] checks again; and counterfactuals.parquet, whose column \
[italic]row[/] is the row of the input table, counted from 0.

A leaf has a price, --regularization: it is grown only where it makes that share of the rows right that would be wrong \
without it. A lower price gives a larger tree.

[bold]Examples[/]

[dim]# scikit-learn's breast-cancer data, the more frequent half of the thresholds[/]
[cyan]fcca distill --q 0.5 --regularization 0.005[/]

[dim]# the same, and look at the report[/]
[cyan]fcca distill --q 0.5 --regularization 0.005 --open[/]

[dim]# a table of your own[/]
[cyan]fcca distill loans.csv --label default --q 0.9 --out results[/]

[dim]# another black box, all rows for training[/]
[cyan]fcca distill loans.parquet --model logistic --test-size 0[/]

[dim]# a code that is a category; rules for the changes, such as immutable: \\[age][/]
[cyan]fcca distill loans.csv --categorical region --rules rules.yaml[/]

[dim]# a model that is fitted already[/]
[cyan]fcca distill loans.csv --model-file booster.json[/]

[dim]# a table larger than memory, the model fitted on a sample of it[/]
[cyan]fcca distill big.parquet --sample 100000 --q 0.9 --no-counterfactuals[/]

[dim]# for a script[/]
[cyan]fcca distill loans.csv --json | jq .rates.held_out.tree_accuracy[/]
"""
EXPLAIN = """Say what would have to change in a row for a classifier to answer otherwise: the cheapest change, proven.

A change stays inside the range of DATA, or of --reference where it is given. A column that moves goes into another of the \
cells between the model's cuts and lands there on the value of the data nearest to where it came from, or on the middle of \
the cell where the data has no value in it; a linear model has no cuts, and a change stops where its answer turns. What a \
change costs is counted in units of each column's range; from one category to another is a distance of 1.

[bold]Examples[/]

[dim]# what would get these applicants approved, three different ways each[/]
[cyan]fcca explain loans.skops loans.csv --rows 0,5 --target approved --n 3[/]

[dim]# with a probability of at least 80 %, as a table[/]
[cyan]fcca explain m.json loans.csv --target 1 --target-probability 0.8 --out a.csv[/]

[dim]# changes that somebody can make: rules.yaml says immutable: \\[age] and so on[/]
[cyan]fcca explain loans.skops loans.csv --rows 17 --rules rules.yaml[/]

[dim]# new applicants, whose changes keep to the range of the training data[/]
[cyan]fcca explain loans.skops new.csv --reference loans.csv --target approved[/]
"""
REPORT = """Write the report of a fitted model: one page with thresholds, trees and counterfactuals to look at.

The same page that [italic]fcca distill[/] writes, without the other files: the model is taken as it is, all rows of DATA \
make the thresholds and the tree, and those of --test are held out. The page needs no network and can be sent as it is.

[bold]Examples[/]

[dim]# a model and the rows it was trained on[/]
[cyan]fcca report loans.skops loans.csv --open[/]

[dim]# with rows to test on, and the slider at the most frequent tenth[/]
[cyan]fcca report booster.json train.csv --test test.csv --q 0.9 --title "Loans"[/]
"""
EXPORT = """Turn the tree that distill found into text, Markdown, plain Python, SQL, ONNX or JSON.

The Python is a module without dependencies whose predict(row) answers as the tree does, to the last bit; a row is a \
dictionary of columns and values. SQL and ONNX answer alike; rows that the tree refuses get NULL in SQL.

[bold]Examples[/]

[dim]# to read[/]
[cyan]fcca export fcca-out/tree.json[/]

[dim]# to run elsewhere[/]
[cyan]fcca export fcca-out/tree.json --to python --out tree.py[/]

[dim]# for a document[/]
[cyan]fcca export fcca-out/tree.json --to markdown >> model-card.md[/]

[dim]# a query that adds the prediction to the rows of a table[/]
[cyan]fcca export tree.json --to sql --dialect postgres --table loans[/]

[dim]# the expression alone, for a view[/]
[cyan]fcca export tree.json --to sql --dialect snowflake --form case[/]

[dim]# a model for ONNX Runtime[/]
[cyan]fcca export fcca-out/tree.json --out tree.onnx[/]
"""
VERIFY = """Check a certificate again: everything that distill claimed, computed anew from the table and the model.

Every counterfactual has to start at its row, keep the rules, flip the model's own predict and cost what it says; the \
thresholds, their counts, the tree's leaves and its objective are computed anew; the best tree is searched anew; and a \
sample of the counterfactuals is proven to be the cheapest by other means than the search that found them, where there are \
any. Nothing in a certificate is taken on trust, and nothing in it is run.

[bold]Examples[/]

[dim]# what fcca distill loans.csv --save-model --out out wrote[/]
[cyan]fcca verify out/certificate.json --data loans.csv --model out/model.skops[/]

[dim]# and that the tree in use is the one that all this is claimed of[/]
[cyan]fcca verify c.json --data a.csv --model m.skops --tree tree.json[/]

[dim]# prove every counterfactual again, in up to an hour[/]
[cyan]fcca verify c.json --data a.csv --model m.skops --sample all --time-limit 3600[/]

[dim]# for a script[/]
[cyan]fcca verify c.json --data loans.csv --model m.skops --json | jq .accepted[/]
"""
BENCHMARK = """Compare trees on your own table: FCCA's thresholds, GTRE's, CART, and the black box itself.

Cross-validated: every method is fitted on the same folds and judged on the rows held out. FCCA and GTRE take their \
thresholds from the black box and get the provably best tree on them; CART is scikit-learn's tree on the columns as they \
are, of the same depth. A leaf of FCCA's and GTRE's has to save ten rows, one of CART's costs nothing, so that CART's \
trees are larger. [italic]commonest class[/] is what answering every row alike is worth.

[italic]fidelity[/] is how often a tree answers as the black box does; [italic]thresholds[/] are those that the tree may \
ask for, [italic]columns[/] those that it asks for; [italic]proven[/] is the share of trees proven optimal; \
[italic]seconds[/] is what fitting takes, for the trees beyond the black box.

[bold]Examples[/]

[dim]# scikit-learn's breast-cancer data[/]
[cyan]fcca benchmark[/]

[dim]# a table of your own, a random forest, trees of depth 4[/]
[cyan]fcca benchmark loans.csv --label default --model rf --depth 4 --q 0,0.8[/]

[dim]# for a script, and as a table[/]
[cyan]fcca benchmark loans.csv --json --out benchmark.csv[/]
"""
EPILOG = (
    "Exit codes: 0 done; 1 the files could not be written; 2 data or options cannot be used; 3 done, but some "
    "counterfactuals do not flip the model's own predict; 130 interrupted."
)
PLAIN_EPILOG = "Exit codes: 0 done; 1 the file could not be written; 2 data or options cannot be used; 130 interrupted."
VERIFY_EPILOG = (
    "Exit codes: 0 accepted; 1 rejected, the table says why; 2 certificate, data, model or options cannot be used; "
    "130 interrupted."
)
MORE = "Start with: fcca distill --q 0.5 --regularization 0.005. Every command has examples: fcca distill --help."


def first_line(text: str) -> str:
    """What a command does, in one sentence."""
    return text.partition("\n")[0]
