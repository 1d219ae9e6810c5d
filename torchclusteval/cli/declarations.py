"""The commands with their options and help. A command's work is the file of its name in ``commands``."""

from torchclusteval.cli.options import Command, Option, draws, integer, probability

# Tests hold these equal to what the package and its documentation know.
FAMILIES = "entropy, pairs, matching, bcubed, association, coreference, segmentation, tracking"
NOISE_POLICIES = ("ignore", "cluster", "singletons")
LAYOUTS = ("item-group", "item-groups", "group-per-line")
CORRECTIONS = ("holm", "benjamini-hochberg")
SCORE_PICTURES = ("scores", "chance", "table", "share", "flow")
COMPARE_PICTURES = ("agreement", "flow", "transitions")

FILE = Option("files FILE", "a table of labels, as for score", nargs=1)
TRUTH = Option("--truth COLUMN", "the column that holds the truth")
TABLES = Option("files FILE", "tables of labels, as for score", nargs="+")
DEVICE = Option("--device", "where to compute: cpu, cuda, cuda:1 ... (default: cpu)")
OVERWRITE = Option("--overwrite", "let --output replace a file", action="store_true")
PRINTING = (
    Option("--format", "default: table, or that of --output", choices=("table", "markdown", "csv", "json")),
    Option(
        "--output FILE",
        "write to a file instead of standard output; FILE.csv, FILE.json and FILE.md say the format too",
    ),
    OVERWRITE,
)
PLOT = Option("--plot FILE.png", "draw a picture too (.png, .pdf, .svg; matplotlib); --dpi 300, --size 3.5x2.5 inches")
MEASURES = Option(
    "--measures LIST", f"names, aliases or families ({FAMILIES}) joined by commas, or all, or default: the usual ones"
)
_SEVERAL = {"action": "append", "default": []}
CHOICE = (
    Option(
        "--columns LIST",
        "the clusterings to take: names or patterns such as 'kmeans_*', joined by commas; can be repeated",
        **_SEVERAL,
    ),
    Option("--exclude LIST", "the columns that are no clusterings, such as ids; written as for --columns", **_SEVERAL),
)
SORT = Option("--sort MEASURE", "put the best by this measure first (default: the order of the input)")
TOP = Option("--top K", "show the K best only (by --sort, ami_arithmetic or the first measure)", type=integer(1))
RANKING = (MEASURES, SORT, TOP)
BY = Option("--by COLUMN", "score the items of each value of this column by themselves")
IGNORE = Option("--ignore LABEL", "leave out the items with this label in the truth")
NOISE_LABEL = Option("--noise-label LABEL", "the label of noise in the clusterings, often -1")
NOISE = (
    NOISE_LABEL,
    Option(
        "--noise",
        "leave noise out, take it as one cluster, or each item as its own (default: ignore)",
        choices=NOISE_POLICIES,
        default="ignore",
    ),
)
MISSING = Option(
    "--missing",
    "missing labels are an error, leave the item out, or are a group of their own (default: error)",
    choices=("error", "ignore", "label"),
    default="error",
)
HEADER = Option(
    "--header",
    "whether the first line names columns (default: auto, which says what it took; one FILE has a header)",
    choices=("yes", "no", "auto"),
    default="auto",
)
READING = (
    Option(
        "--na-values LIST",
        "spellings of missing labels in text files, joined by commas (default: NA, NaN, null, None ...); "
        "an empty cell always is one, a quoted spelling never",
    ),
    Option("--id COLUMN", "the column that names the rows (default: one without a name, or ids that all FILEs have)"),
    HEADER,
)
JOIN = Option(
    "--join",
    "how several FILEs go together: all name the same rows (default), rows that all of them name, or by position",
    choices=("names", "shared", "position"),
    default="names",
)
LABELS = (*NOISE, MISSING, *READING, JOIN)
ON_DUPLICATE = Option(
    "--on-duplicate",
    "what becomes of a mention in two entities: refused, or kept in the first (default: error)",
    choices=("error", "first"),
    default="error",
)
UNIT = (
    "--resamples items or classes, besides a number, says what is drawn (default: items where there are fewer than 30 "
    "classes and that is not biased, else classes; with --by groups)"
)
LEVEL = Option("--confidence-level P", "of intervals (default: 0.95)", type=probability)
SEED = Option("--seed S", "of the resampling (default: 0)", type=integer(0))

OF_TABLES = (  # of difference, without a meaning for coreference
    TRUTH,
    Option("--by COLUMN", "draw and exchange whole groups of items, those of each value of this column"),
    *CHOICE,
    IGNORE,
    *LABELS,
)

COMMANDS = (
    Command(
        "score",
        "score clusterings in files against the truth",
        Option("files FILE", "tables of labels, joined by ids; without --truth the first is the truth", nargs="+"),
        TRUTH,
        Option(
            "--by COLUMN",
            "score the items of each value of this column (document, donor ...) by themselves; prints the "
            "mean over these groups (macro), the pooled value, where sums over the groups define one, and the "
            "score of all items together",
        ),
        Option(
            "--per",
            "add a row for each class, with the cluster that it is matched with one to one, and the means "
            "mean_class_accuracy, macro_f and mean_iou; for each cluster, with its class; or for each group of "
            "--by. --format csv has the rows of classes or clusters alone. Or keep the first clustering of each "
            "partition, with how often it came",
            choices=("class", "cluster", "group", "partition"),
        ),
        *CHOICE,
        *RANKING,
        IGNORE,
        *LABELS,
        Option(
            "--confidence-level P",
            "add bootstrap intervals of this level, such as 0.95, of 1000 resampled tables; with --by to the rows "
            "of the groups, or with --resamples groups to macro and pooled",
            type=probability,
        ),
        Option(
            "--resamples R",
            f"add intervals of R resampled tables, and p-values: better than R permutations of the labels. {UNIT}",
            type=draws,
        ),
        SEED,
        PLOT,
        Option(
            "--picture",
            "what --plot draws: scores by the measure of --sort (default), also over those of permuted labels "
            "(chance), or of the best clustering the matched table with counts or shares, or the flow from "
            "classes to clusters",
            choices=SCORE_PICTURES,
        ),
        DEVICE,
        *PRINTING,
        details="""\
examples:
  torchclusteval score results.csv --truth class --exclude id --sort ami --top 9
  torchclusteval score cells.csv --truth type --by donor --per group
  torchclusteval score results.csv --truth class --columns kmeans --per class
  torchclusteval score results.csv --truth class --plot table.png --picture table
  torchclusteval score cells.csv runs.csv --truth type --columns 'leiden_*'
  torchclusteval score truth.npy kmeans.npy spectral.txt --measures nmi,ari
  torchclusteval score results.csv --truth class --measures ari --resamples 1000
  zcat results.csv.gz | torchclusteval score - --truth class --noise-label -1
  torchrun --nproc-per-node 4 -m torchclusteval score huge.csv --truth class

files (text may be packed by gzip, bz2, zstd or lz4; "-" is standard input):
  CSV, TSV    a header line, then a line an item; cells between commas, tabs,
              semicolons, | or blanks, or what a first line such as sep=; says.
              Labels are whole numbers (1, 1.0 and 01 are one label) or text; blanks
              around them do not count.
  .txt        a label a line
  .npy, .npz  (N,) labels, or (B, N) for several clusterings; label images as
              (N,) pixels: numpy.save("truth.npy", image.ravel())
  Parquet, Feather, ORC; .h5ad (columns of obs; needs anndata);
  a directory of files with the same columns, which are one table
Coreference (.conll) and items in several groups have commands of their own.

  A first column without a name (row names of pandas and R), or one cell more than
  the header has, is no clustering: several FILEs are joined by it, by --id or by
  columns that hold the same ids, a different one for each row. A column whose name
  is in two FILEs is called FILE:COLUMN, or FILE if that has no other column.
  All but .npy, .npz and .txt need pyarrow: pip install 'torchclusteval[cli]'

One FILE is read in blocks and need not fit in memory; torchrun's processes read a
part each. Several FILEs, --by, --per, pictures of groups and the other commands hold
labels in the smallest type of integers.
--ignore and --noise-label may name a missing label ('' or NA).

Where items are left out, a coverage column says which share of them is scored.
""",
    ),
    Command(
        "score-overlapping",
        "score clusterings whose items may have several groups",
        Option("files FILE", "the truth and then clusterings, which list groups of items", nargs="+"),
        Option(
            "--layout LIST",
            f"how FILEs list them: {', '.join(LAYOUTS)} or auto (where there is no doubt; default), one for "
            "all files, or one for each joined by commas",
            default="auto",
        ),
        HEADER,
        Option("--measures LIST", "names joined by commas, or all (default: the usual ones)"),
        SORT,
        Option("--top K", "show the K best only (by --sort or extended_bcubed_f)", type=integer(1)),
        PLOT,
        DEVICE,
        *PRINTING,
        details="""\
examples:
  torchclusteval score-overlapping truth.tsv oslom.tsv demon.tsv --measures omega_index
  torchclusteval score-overlapping community.dat found.txt --layout item-groups,group-per-line

layouts:
  item-group      item<TAB>group, a line for each group of an item
  item-groups     item<TAB>group group ..., as community.dat of LFR
  group-per-line  the items of a group, divided by tabs or blanks, as SNAP
  .json files hold {item: [groups]}, a list of groups, or an export of CDlib;
  lines that begin with # are comments
""",
    ),
    Command(
        "score-coreference",
        "score coreference of documents as the reference scorer does",
        Option("files FILE", "the key and then responses, as CoNLL 2011/2012 has columns", nargs="+"),
        Option("--measures LIST", "names or a family joined by commas (default: those of the reference scorer)"),
        Option("--per", "add the rows of each document", choices=("document",)),
        Option("--confidence-level P", "add intervals of this level, of documents drawn again", type=probability),
        Option("--resamples R", "add intervals of R draws of the documents (default: 1000)", type=integer(1)),
        SEED,
        ON_DUPLICATE,
        *PRINTING,
        details="""\
examples:
  torchclusteval score-coreference key.conll response.conll other.conll
  torchclusteval score-coreference key.conll response.conll --per document --format csv
  torchclusteval score-coreference key.conll response.conll --measures lea_f,pair_f --confidence-level 0.95

MUC, B3, CEAF, BLANC, LEA and the CoNLL average of all documents together; 0/0 is 0.
Which response is better: difference key.conll response.conll other.conll.
""",
    ),
    Command(
        "difference",
        "test clusterings against one of them on the same truth",
        Option("files FILE", "tables of labels, or the key and then responses of coreference (.conll)", nargs="+"),
        Option(
            "--against COLUMN",
            "the clustering that the others are compared with, on the same items, drawn again together; of "
            "coreference a response (default: the first)",
        ),
        Option("--macro", "compare means over the groups of --by, or over documents", action="store_true"),
        Option("--correction", "adjust p-values for the number of clusterings", choices=CORRECTIONS),
        *RANKING,
        *OF_TABLES,
        LEVEL,
        Option("--resamples R", f"draws (default: 1000, or as many as --correction needs). {UNIT}", type=draws),
        SEED,
        DEVICE,
        *PRINTING,
        details="""\
examples:
  torchclusteval difference results.csv --truth class --measures ami --against kmeans --correction holm
  torchclusteval difference cells.csv --truth type --against leiden --by donor --macro --measures ami
  torchclusteval difference key.conll response.conll other.conll --measures conll_f,lea_f

For each other clustering: its score, the difference to that of --against, the interval of
the difference by a paired bootstrap, and its two-sided p-value. Items that either of the
two leaves out are out of their comparison. With --by, and of coreference, groups or
documents are drawn for the interval, and p-values are those of exchanging the two
clusterings within random groups (approximate randomisation), or within all subsets of
few groups. A mention of coreference in two entities is kept in the first, with a note.
""",
    ),
    Command(
        "estimate",
        "estimate scores from the truth of a sample of classes",
        FILE,
        Option("--truth COLUMN", "the column with the classes of the sampled items; others have none", required=True),
        Option(
            "--weights",
            "how the classes were sampled: uniform (all alike), size (as many times as likely as they have items, as "
            "through a random item), or a file of lines class,weight: one over the probability of each",
            required=True,
        ),
        Option("--against COLUMN", "the clustering that the others are compared with, on the same sample"),
        Option("--measures LIST", "of those below, joined by commas (default: all)"),
        *CHOICE,
        Option("--noise-label LABEL", "the label of items without a cluster, often -1; they stay in the sample"),
        *READING,
        DEVICE,
        *PRINTING,
        details="""\
examples:
  torchclusteval estimate records.csv --truth checked --weights uniform --exclude id
  torchclusteval estimate records.csv --truth checked --weights size --against rules --measures pair_f

A person knows the true classes of some items, all items of each such class; the truth of
the others is a missing label. They are other classes' items, so a cluster that takes one
in is wrong. Measures are precision, recall and F of pairs (pair_f), of BCubed by class
(bcubed_f) and of whole clusters (exact_cluster_f), with standard errors of drawing the
classes and 95 % intervals from them (Student's t; too short below 30 classes). With
--against, the difference of both clusterings on the same classes, with its error and p.
""",
    ),
    Command(
        "compare",
        "score clusterings in files against each other",
        TABLES,
        *CHOICE,
        Option(
            "--measure --measures NAME",
            "default: adjusted_rand, which is symmetric, corrected for chance and fast for all pairs",
            dest="measure",
            default="adjusted_rand",
        ),
        *LABELS,
        PLOT,
        Option(
            "--picture",
            "what --plot draws: the matrix of --measure with its tree (default), or how items move from each "
            "clustering to the next, as bands or as a tree over rising resolutions",
            choices=COMPARE_PICTURES,
        ),
        DEVICE,
        *PRINTING,
        details="""\
examples:
  torchclusteval compare runs.csv --exclude id --measure nmi --plot agreement.png
  torchclusteval compare kmeans.npy spectral.txt --format csv --output pairs.csv
  torchclusteval compare leiden.csv --columns 'res_*' --plot tree.pdf --picture transitions

Every column is a clustering. Items that either clustering of a pair leaves out, as noise
or as missing, are out of that pair. In the matrix the row is taken as the truth. Of more
than 12 clusterings the table shows each one's mean agreement with the others. Which of two
is closer to a truth: difference.
""",
    ),
    Command(
        "report",
        "write a page on clusterings: ranking, differences, agreement, weak groups",
        TABLES,
        TRUTH,
        BY,
        Option("--output FILE.html", "the page", dest="page", required=True),
        OVERWRITE,
        Option("--title TEXT", "of the page"),
        *CHOICE,
        MEASURES,
        Option(
            "--sort MEASURE",
            "the measure that ranks (default: ami_arithmetic, or the first; without --truth adjusted_rand, as compare)",
        ),
        LEVEL,
        Option("--resamples R", f"resampled tables (default: 1000). {UNIT}", type=draws),
        SEED,
        IGNORE,
        *LABELS,
        DEVICE,
        details="""\
examples:
  torchclusteval report labels.csv --truth class --output report.html
  torchclusteval report cells.parquet --truth cell_type --missing ignore --by donor --output report.html
  torchclusteval report runs.csv --exclude id --output report.html

One page of HTML, which needs no network: what was read and left out, the ranking with
intervals, which clusterings are told apart from the best (their p-value after Holm's
correction is below 0.05, and the interval of the difference leaves out 0), the
agreement of the clusterings, the matched table of the best one, its weakest classes and
clusters, and which of its clusters the others have too. Without --truth clusterings are ranked by how well they
agree with the others. Of many clusterings the 200 best have intervals, and the 60 best
are compared with each other.
""",
    ),
    Command(
        "relabel",
        "rename clusters as the classes that they match",
        FILE,
        Option("--truth COLUMN", "the column that holds the truth", required=True),
        Option("--output FILE", "FILE.csv or FILE.parquet", dest="label_file", required=True),
        OVERWRITE,
        Option(
            "--unmatched",
            "clusters without a class get new labels, or keep theirs if no class has them (default: new)",
            choices=("new", "keep"),
            default="new",
        ),
        Option("--fill LABEL", "one label for all clusters without a class in place of new ones"),
        *CHOICE,
        IGNORE,
        NOISE_LABEL,
        Option(
            "--noise",
            "noise keeps its label, or is matched as a cluster (default: ignore)",
            choices=("ignore", "cluster"),
            default="ignore",
        ),
        MISSING,
        *READING,
        details="""\
examples:
  torchclusteval relabel results.csv --truth class --output renamed.csv
  torchclusteval relabel cells.parquet --truth type --columns 'leiden_*' --fill other --output renamed.parquet

Each clustering is matched with the classes one to one, so that as many items as possible
agree. The output holds the names of rows, the truth and the clusterings, a row an item, in
the order of FILE. Clusters without a class get new labels (numbers after the largest class,
or 'new 1', 'new 2' ...), those of items whose class is left out among them.
""",
    ),
    Command(
        "cluster-stability",
        "say which clusters of one clustering come back in others",
        FILE,
        Option("--reference COLUMN", "the column whose clusters are examined", required=True),
        *CHOICE,
        Option("--noise-label LABEL", "the label of noise, often -1: a cluster that is compared with noise alone"),
        *READING,
        PLOT,
        *PRINTING,
        details="""\
examples:
  torchclusteval cluster-stability runs.csv --reference kmeans --columns 'resample_*'
  torchclusteval cluster-stability runs.csv --reference leiden --noise-label -1 --output stable.csv

Every other column is a run, or each of --columns; the reference itself is none. A
missing label is an item that the run lacks, as where it clustered a resample. For
each cluster of the reference:
  runs                 how many of them have items of it
  mean_jaccard         mean Jaccard index with the most similar cluster of a run: from
                       0.85 highly stable, from 0.75 stable, below 0.6 not to be trusted
  recovered            in how many runs this index is above 0.75
  dissolved            in how many it is at most 0.5
  prediction_strength  mean share of its pairs of items that a run keeps together
""",
    ),
    Command(
        "consensus",
        "find the clustering that several agree on",
        FILE,
        *CHOICE,
        Option("--start COLUMN", "the first centre, whose labels are used (default: the first column)"),
        Option("--output FILE", "write labels to FILE.csv or FILE.parquet", dest="label_file"),
        OVERWRITE,
        *NOISE,
        *READING,
        details="""\
examples:
  torchclusteval consensus runs.csv --exclude id --output agreed.csv
  torchclusteval consensus runs.npy --start 3

Every clustering is relabelled to a centre by one-to-one matching, the items vote, and the
winners are the next centre, until it stays the same. A missing label is an item that a
clustering lacks. The output holds the names of rows, the label of each item and the share
of the clusterings that agree; an item that no clustering has gets neither.
""",
    ),
    Command(
        "measures",
        "list the measures, or explain one",
        Option(
            "name NAME",
            "a measure to explain, a family or another library to list, or a function of it (LIBRARY:NAME)",
            nargs="?",
        ),
    ),
    Command("demo", "score several hundred bundled clusterings with every measure"),
    Command(
        "study",
        "repeat an experiment of a source paper",
        Option("name NAME", "the experiment; list names them"),
        Option("--preset NAME", "a reading, where the paper leaves several open; a wrong name lists them"),
        Option("--iterations N", "random data sets for each configuration", type=integer(1)),
        Option("--seed", "of the random numbers (default: 0)", type=int),
        DEVICE,
        Option("--output FILE.csv", "write rows there; an interrupted run goes on there", dest="csv"),
        Option("--overwrite", "replace FILE.csv and FILE.json where they exist", action="store_true"),
        Option("--plot FILE", "draw the figures (.png, .pdf, .svg); --dpi and --size as for score"),
    ),
)
