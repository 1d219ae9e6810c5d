"""The formulas of measures in mathematics: those written here, else what a docstring has between double backticks.

Notation: ``notation.md``. A measure that is not here appears with the formula of its docstring.
"""

import re

from docutils.utils.math.latex2mathml import tex2mathml

_BEST = r"\max_{\sigma} \sum_i n_{i\sigma(i)}"
_HARMONIC = r"\frac{2 P R}{P + R}"
_SHARED = r"\min(|C(e) \cap C(e')|, |L(e) \cap L(e')|)"
_AMI = r"\frac{I - E[I]}{%s - E[I]}"


def _mean(groups: str) -> str:
    """Mean over items of the mean over the items that share a group with it."""
    return rf"\text{{mean}}_e\ \text{{mean}}_{{e': {groups}(e) \cap {groups}(e') \ne \emptyset}}"


FORMULAS: dict[str, str] = {
    "entropy_classes": r"H(C) = -\sum_i \frac{r_i}{N} \log \frac{r_i}{N}",
    "entropy_clusters": r"H(K) = -\sum_j \frac{c_j}{N} \log \frac{c_j}{N}",
    "joint_entropy": r"H(C, K) = -\sum_{ij} \frac{n_{ij}}{N} \log \frac{n_{ij}}{N}",
    "conditional_entropy": r"H(C|K) = -\sum_{ij} \frac{n_{ij}}{N} \log \frac{n_{ij}}{c_j}",
    "class_entropy": r"H(K|C) = -\sum_{ij} \frac{n_{ij}}{N} \log \frac{n_{ij}}{r_i}",
    "cluster_entropy": r"\frac{H(C|K)}{\log R}",
    "mutual_information": r"I = \sum_{ij} \frac{n_{ij}}{N} \log \frac{N n_{ij}}{r_i c_j}",
    "homogeneity": r"h = 1 - \frac{H(C|K)}{H(C)} = \frac{I}{H(C)}",
    "completeness": r"c = 1 - \frac{H(K|C)}{H(K)} = \frac{I}{H(K)}",
    "v_measure": r"V = \frac{2 h c}{h + c} = \frac{2 I}{H(C) + H(K)}",
    "v_measure_beta_0.5": r"\frac{(1 + \beta) h c}{\beta h + c}, \quad \beta = \frac{1}{2}",
    "v_measure_beta_2": r"\frac{(1 + \beta) h c}{\beta h + c}, \quad \beta = 2",
    "nmi_min": r"\frac{I}{\min(H(C), H(K))}",
    "nmi_geometric": r"\frac{I}{\sqrt{H(C) H(K)}}",
    "nmi_arithmetic": r"\frac{2 I}{H(C) + H(K)}",
    "nmi_max": r"\frac{I}{\max(H(C), H(K))}",
    "nmi_joint": r"\frac{I}{H(C, K)}",
    "expected_mutual_information": r"E[I] = \sum_{ij} \sum_n \frac{n}{N} \log \frac{N n}{r_i c_j} P(n_{ij} = n)"
    r", \quad P(n_{ij} = n) = \frac{\binom{c_j}{n} \binom{N - c_j}{r_i - n}}{\binom{N}{r_i}}",
    "ami_min": _AMI % r"\min(H(C), H(K))",
    "ami_geometric": _AMI % r"\sqrt{H(C) H(K)}",
    "ami_arithmetic": _AMI % r"\frac{1}{2} (H(C) + H(K))",
    "ami_max": _AMI % r"\max(H(C), H(K))",
    "variation_of_information": r"VI = H(C|K) + H(K|C)",
    "normalized_vi_log_n": r"\frac{VI}{\log N}",
    "normalized_vi_two_log_n": r"\frac{VI}{2 \log N}",
    "normalized_vi_log_k": r"\frac{VI}{\log k}, \quad k = \max(R, C)",
    "normalized_vi_two_log_k": r"\frac{VI}{2 \log k}, \quad k = \max(R, C)",
    "normalized_vi_joint": r"\frac{VI}{H(C, K)}",
    "nvi": r"NVI = \frac{VI}{H(C)}",
    "nvi_k": r"\frac{VI}{H(K)}",
    "q0": r"Q_0 = H(C|K) + \frac{1}{N} \sum_j \log \binom{c_j + R - 1}{R - 1}",
    "q0_bits": r"Q_0 = H(C|K) + \frac{1}{N} \sum_j \log_2 \binom{c_j + R - 1}{R - 1}, "
    r"\quad H(C|K)\ \text{in bits}",
    "q2": r"Q_2 = \frac{\frac{1}{N} \sum_i \log \binom{r_i + R - 1}{R - 1}}{Q_0}",
    "rand": r"\frac{SS + DD}{M}",
    "adjusted_rand": r"\frac{2 (SS \cdot DD - SD \cdot DS)}{(SS + SD)(SD + DD) + (SS + DS)(DS + DD)}",
    "jaccard": r"\frac{SS}{SS + SD + DS}",
    "fowlkes_mallows": r"\frac{SS}{\sqrt{(SS + SD)(SS + DS)}}",
    "mirkin": r"2 (SD + DS)",
    "mirkin_normalized": r"\frac{2 (SD + DS)}{N^2}",
    "hubert_gamma": r"\frac{SS}{M}",
    "hubert_gamma_normalized": r"\frac{SS \cdot DD - SD \cdot DS}{\sqrt{(SS + SD)(SS + DS)(SD + DD)(DS + DD)}}",
    "minkowski_score": r"\sqrt{\frac{SD + DS}{SS + DS}}",
    "pair_precision": r"\frac{SS}{SS + SD}",
    "pair_recall": r"\frac{SS}{SS + DS}",
    "partition_difference": "DD",
    "pair_f": r"\frac{2 SS}{2 SS + SD + DS}",
    "purity": r"\frac{1}{N} \sum_j \max_i n_{ij}",
    "many_to_one_accuracy": r"\frac{1}{N} \sum_j \max_i n_{ij}",
    "inverse_purity": r"\frac{1}{N} \sum_i \max_j n_{ij}",
    "purity_f": _HARMONIC + r", \quad P = \frac{1}{N} \sum_j \max_i n_{ij}, \quad R = \frac{1}{N} \sum_i \max_j n_{ij}",
    "clustering_f": r"\sum_i \frac{r_i}{N} \max_j \frac{2 n_{ij}}{r_i + c_j}",
    "larsen_l": r"\frac{1}{R} \sum_i \max_j \frac{2 n_{ij}}{r_i + c_j}",
    "van_dongen": r"2 N - \sum_j \max_i n_{ij} - \sum_i \max_j n_{ij}",
    "van_dongen_2n": r"1 - \frac{\sum_j \max_i n_{ij} + \sum_i \max_j n_{ij}}{2 N}",
    "van_dongen_normalized": r"\frac{2 N - \sum_j \max_i n_{ij} - \sum_i \max_j n_{ij}}{2 N - \max_i r_i - \max_j c_j}",
    "one_to_one_accuracy": rf"\frac{{1}}{{N}} {_BEST}",
    "classification_error": rf"1 - \frac{{1}}{{N}} {_BEST}",
    "bcubed_precision": r"\frac{1}{N} \sum_{ij} \frac{n_{ij}^2}{c_j}",
    "bcubed_recall": r"\frac{1}{N} \sum_{ij} \frac{n_{ij}^2}{r_i}",
    "bcubed_f": _HARMONIC
    + r", \quad P = \frac{1}{N} \sum_{ij} \frac{n_{ij}^2}{c_j}, \quad R = \frac{1}{N} \sum_{ij} \frac{n_{ij}^2}{r_i}",
    "element_centric_similarity": r"\frac{1}{N} \sum_{ij} \frac{n_{ij}^2}{\max(r_i, c_j)}",
    "muc_precision": r"\frac{\sum_{ij} n_{ij} - |\{(i, j): n_{ij} > 0\}|}{\sum_j (c_j - 1)}",
    "muc_recall": r"\frac{\sum_{ij} n_{ij} - |\{(i, j): n_{ij} > 0\}|}{\sum_i (r_i - 1)}",
    "coref_bcubed_precision": r"\frac{\sum_{ij} n_{ij}^2 / c_j}{\sum_j c_j}",
    "coref_bcubed_recall": r"\frac{\sum_{ij} n_{ij}^2 / r_i}{\sum_i r_i}",
    "ceaf_m_precision": rf"\frac{{{_BEST}}}{{\sum_j c_j}}",
    "ceaf_m_recall": rf"\frac{{{_BEST}}}{{\sum_i r_i}}",
    "ceaf_e_precision": r"\frac{1}{C} \max_{\sigma} \sum_i \frac{2 n_{i\sigma(i)}}{r_i + c_{\sigma(i)}}",
    "ceaf_e_recall": r"\frac{1}{R} \max_{\sigma} \sum_i \frac{2 n_{i\sigma(i)}}{r_i + c_{\sigma(i)}}",
    "lea_precision": r"\frac{1}{\sum_j c_j} \sum_j c_j \frac{\sum_i n_{ij} (n_{ij} - 1)}{c_j (c_j - 1)}",
    "lea_recall": r"\frac{1}{\sum_i r_i} \sum_i r_i \frac{\sum_j n_{ij} (n_{ij} - 1)}{r_i (r_i - 1)}",
    "blanc_precision": r"\frac{1}{2} \left(\frac{a}{Q} + \frac{a'}{Q'}\right)",
    "blanc_recall": r"\frac{1}{2} \left(\frac{a}{K} + \frac{a'}{K'}\right)",
    "blanc_f": r"\frac{1}{2} \left(\frac{2 a}{K + Q} + \frac{2 a'}{K' + Q'}\right)",
    "exact_cluster_precision": r"\frac{|E|}{C}, \quad E = \{(i, j): n_{ij} = r_i = c_j\}",
    "exact_cluster_recall": r"\frac{|E|}{R}, \quad E = \{(i, j): n_{ij} = r_i = c_j\}",
    "exact_cluster_f": r"\frac{2 |E|}{R + C}, \quad E = \{(i, j): n_{ij} = r_i = c_j\}",
    "conll_f": r"\frac{1}{3} (F_\text{MUC} + F_\text{BCubed} + F_\text{CEAF-e})",
    "closest_cluster_precision": r"\frac{1}{C} \sum_j \max_i \frac{n_{ij}}{r_i + c_j - n_{ij}}",
    "closest_cluster_recall": r"\frac{1}{R} \sum_i \max_j \frac{n_{ij}}{r_i + c_j - n_{ij}}",
    "merge_distance": r"2 |\{(i, j): n_{ij} > 0\}| - R - C",
    "foreground_ari": r"\frac{2 (SS \cdot DD - SD \cdot DS)}{(SS + SD)(SD + DD) + (SS + DS)(DS + DD)}"
    r"\quad \text{over items of true objects}",
    "mean_best_overlap": r"\frac{1}{R} \sum_i \max_j \frac{n_{ij}}{r_i + c_j - n_{ij}}",
    "symmetric_best_dice": r"\min\left(\frac{1}{R} \sum_i \max_j \frac{2 n_{ij}}{r_i + c_j}, "
    r"\frac{1}{C} \sum_j \max_i \frac{2 n_{ij}}{r_i + c_j}\right)",
    "panoptic_quality": r"\frac{\sum_{TP} \text{IoU}}{TP + \frac{1}{2} FP + \frac{1}{2} FN}",
    "segmentation_quality": r"\frac{\sum_{TP} \text{IoU}}{TP}",
    "recognition_quality": r"\frac{TP}{TP + \frac{1}{2} FP + \frac{1}{2} FN}",
    "object_ap_0.5": r"\frac{TP}{TP + FP + FN}",
    "object_f_0.5": r"\frac{2 TP}{2 TP + FP + FN}",
    "seg": r"\frac{1}{R} \sum_i \frac{n_{ij}}{r_i + c_j - n_{ij}}, \quad j: n_{ij} > \frac{r_i}{2}",
    "aggregated_jaccard": r"\frac{\sum_i n_{ib(i)}}"
    r"{\sum_i (r_i + c_{b(i)} - n_{ib(i)}) + \sum_{j \notin b} c_j}",
    "vi_split_bits": r"H(K|C) = -\sum_{ij} \frac{n_{ij}}{N} \log_2 \frac{n_{ij}}{r_i}",
    "vi_merge_bits": r"H(C|K) = -\sum_{ij} \frac{n_{ij}}{N} \log_2 \frac{n_{ij}}{c_j}",
    "adapted_rand_error": r"1 - \frac{2 SS}{2 SS + SD + DS}",
    "adapted_rand_error_self_pairs": r"1 - \frac{2 \sum_{ij} n_{ij}^2}{\sum_i r_i^2 + \sum_j c_j^2}",
    "idp": r"\frac{IDTP}{\sum_j c_j}, \quad IDTP = " + _BEST,
    "idr": r"\frac{IDTP}{\sum_i r_i}, \quad IDTP = " + _BEST,
    "idf1": r"\frac{2 IDTP}{\sum_i r_i + \sum_j c_j}, \quad IDTP = " + _BEST,
    "association_accuracy": r"\frac{1}{\sum_{ij} n_{ij}} \sum_{ij} \frac{n_{ij}^2}{r_i + c_j - n_{ij}}",
    "diarization_error_rate": r"\frac{\text{missed} + \text{false alarm} + \text{confusion}}{\sum_i r_i}",
    "diarization_purity": r"\frac{\sum_j \max_i n_{ij}}{\sum_j c_j}",
    "diarization_coverage": r"\frac{\sum_i \max_j n_{ij}}{\sum_i r_i}",
    "jaccard_error_rate": r"\min_\sigma \frac{1}{R} \sum_i \left(1 - \frac{n_{i\sigma(i)}}"
    r"{r_i + c_{\sigma(i)} - n_{i\sigma(i)}}\right)",
    "jaccard_error_rate_pyannote": r"\frac{1}{R} \sum_i \left(1 - \frac{n_{i\sigma(i)}}"
    r"{r_i + c_{\sigma(i)} - n_{i\sigma(i)}}\right), \quad \sigma: \text{the most common speech}",
    "greedy_one_to_one_accuracy": r"\frac{1}{N} \sum_i n_{ig(i)}, "
    r"\quad g: \text{the largest cell left, again and again}",
    "meila_heckerman_h": rf"1 - \frac{{1}}{{N}} {_BEST}",
    "misclassification_index": r"1 - \frac{1}{N} \sum_j \max_i n_{ij}",
    "micro_precision": r"\frac{1}{N} \sum_j \max_i n_{ij}",
    "micro_recall": r"\frac{1}{N} \sum_j \max_i n_{ij}",
    "edit_distance": r"C + \sum_j (c_j - \max_i n_{ij})",
    "edit_quality": r"1 - \frac{C + \sum_j (c_j - \max_i n_{ij})}{N}",
    "grouping_accuracy": r"\frac{\sum_{(i, j) \in E} n_{ij}}{\sum_i r_i + \sum_j c_j - \sum_{ij} n_{ij}}, "
    r"\quad E = \{(i, j): n_{ij} = r_i = c_j\}",
    "extended_bcubed_precision": rf"{_mean('C')} \frac{{{_SHARED}}}{{|C(e) \cap C(e')|}}",
    "extended_bcubed_recall": rf"{_mean('L')} \frac{{{_SHARED}}}{{|L(e) \cap L(e')|}}",
    "extended_bcubed_f": _HARMONIC,
    "overlap_purity": r"\frac{\sum_G \max_L |G \cap L|}{\sum_G |G|}",
    "overlap_inverse_purity": r"\frac{\sum_L \max_G |G \cap L|}{\sum_L |L|}",
    "overlap_purity_f": _HARMONIC,
    "overlap_set_f": r"\frac{1}{\sum_L |L|} \sum_L |L| \max_G \frac{2 |G \cap L|}{|G| + |L|}",
    "overlapping_nmi_lfk": r"1 - \frac{1}{2} \left(\frac{1}{R} \sum_k \frac{H(X_k|Y)}{H(X_k)} + "
    r"\frac{1}{C} \sum_l \frac{H(Y_l|X)}{H(Y_l)}\right)",
    "overlapping_nmi_max": r"\frac{H(X) - H(X|Y) + H(Y) - H(Y|X)}{2 \max(H(X), H(Y))}",
    "omega_index": r"\frac{\sum_j o_j / M - \sum_j a_j b_j / M^2}{1 - \sum_j a_j b_j / M^2}",
    "omega_observed": r"\frac{1}{M} \sum_j o_j",
}
for _name in ("muc", "coref_bcubed", "ceaf_m", "ceaf_e", "lea", "diarization_purity"):
    FORMULAS[f"{_name}_f"] = _HARMONIC

_LOOKS = re.compile(r"[=/^]|\b(sum|max|min|log|sqrt)(?=\b|_)")


def formula_of(name: str, doc: str) -> str | None:
    """The formula of a measure in TeX; None where neither this file nor its docstring has one that can be drawn."""
    if name in FORMULAS:
        return FORMULAS[name]
    plain = plain_formula(doc)
    tex = as_tex(plain) if plain else ""
    try:
        tex2mathml(tex, as_block=True)
    except (AttributeError, IndexError, KeyError, SyntaxError):
        return None
    return tex or None


def plain_formula(doc: str) -> str | None:
    """The formula as a docstring has it: an indented line, else the first code that looks like one."""
    indented = re.search(r"\n\n {4}(\S.*)\n", doc)
    candidates = [indented[1]] if indented else re.findall(r"``(.+?)``", doc.partition("\nArgs:")[0], re.DOTALL)
    return next((x for x in candidates if _LOOKS.search(x)), candidates[0] if candidates else None)


def as_tex(plain: str) -> str:
    """A formula of a docstring (``sum_ij n_ij^2 / c_j``) in TeX."""
    text = " ".join(plain.split()).rstrip(".,").replace("#{", r"|\{").replace("&", r"\cap").replace("%", r"\%")
    text = re.sub(r"\b([A-Za-z]+)_([A-Za-z0-9]+)\b", r"\1_{\2}", text)
    text = re.sub(r"\b([SD]{2}) (?=[SD]{2}\b)", r"\1 \\cdot ", text)
    text = _with_roots(text)
    text = re.sub(r"\b(log|max|min|sum)(?=\b|_)", r"\\\1", text)
    text = re.sub(r"\bchi2\b", r"\\chi^2", text)
    text = re.sub(r"(?<!\\)\b(alpha|beta|gamma|lambda|sigma|tau|chi)(?=\b|_)", r"\\\1", text)
    return re.sub(r"(?<![\\A-Za-z])([A-Za-z]{3,})(?![A-Za-z])", r"\\text{\1}", text)


def _with_roots(text: str) -> str:
    """``sqrt(...)`` as a root over all that stands between its brackets."""
    start = text.find("sqrt(")
    if start < 0:
        return text
    depth = 0
    for end in range(start + 4, len(text)):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        if not depth:
            inside = _with_roots(text[start + 5 : end])
            return rf"{text[:start]}\sqrt{{{inside}}}{_with_roots(text[end + 1 :])}"
    return text
