"""Mathematics as MathML, which browsers draw by themselves."""

from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml


def add_to(app: Any) -> None:
    app.add_html_math_renderer("mathml", (_visit_inline, None), (_visit_block, None))


def _visit_inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(tex2mathml(node.astext(), as_block=False))
    raise nodes.SkipNode


def _visit_block(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="math">{tex2mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode
