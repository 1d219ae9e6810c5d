"""A page of HTML that needs nothing else: style, tables that sort, sections."""

import math
from collections.abc import Sequence
from html import escape

from torchclusteval.common.formatting import format_number, printable, shorten

_STYLE = """
:root{color-scheme:light}
*{box-sizing:border-box}
body{font:16px/1.5 system-ui,"Segoe UI",Roboto,"Helvetica Neue",Arial,"Noto Sans",sans-serif;color:#1b1b1b;
background:#fff;margin:0 auto;padding:1rem 1.25rem 4rem;max-width:70rem;overflow-wrap:anywhere}
h1{font-size:1.7rem;line-height:1.2;margin:.6rem 0 .3rem}
h2{font-size:1.25rem;line-height:1.25;margin:2.2rem 0 .4rem;padding-top:.8rem;border-top:1px solid #ddd}
h3{font-size:1rem;margin:1.2rem 0 .3rem}
p,ul{margin:.4rem 0;max-width:46rem}
.lead{background:#f3f6f9;border-left:4px solid #0072b2;padding:.6rem .9rem;margin:.8rem 0}
.lead ul{margin:0;padding-left:1.1rem}
nav{font-size:.9rem;margin:.6rem 0}nav a{margin-right:.9rem;display:inline-block;max-width:100%}
a{color:#005a8e}
.note{color:#555;font-size:.9rem}
.wide{overflow-x:auto;margin:.6rem 0;max-width:100%}
.tall{max-height:32rem;overflow-y:auto;border-bottom:1px solid #ddd}
.tall thead th{position:sticky;top:0;background:#fff}
table{border-collapse:collapse;font-size:.875rem;line-height:1.3}
caption{text-align:left;color:#555;padding:.2rem 0}
th,td{padding:.22rem .6rem;text-align:right;vertical-align:top;border-bottom:1px solid #e6e6e6;
font-variant-numeric:tabular-nums;overflow-wrap:normal;white-space:nowrap}
th{font-weight:600}
thead th{vertical-align:bottom;border-bottom:2px solid #888;white-space:normal}
tbody th,th.text,td.text{text-align:left;font-weight:400;white-space:normal}
th.text{font-weight:600}
.n{display:inline-block;vertical-align:top;width:max-content;max-width:18rem;overflow-wrap:anywhere}
tbody tr:hover{background:#f6f8fa}
tr.best{background:#eaf1f7}
th [role=button]{cursor:pointer}
th [role=button]:hover{text-decoration:underline}
th [role=button]:focus-visible{outline:2px solid #0072b2}
th[aria-sort=ascending] [role=button]::after{content:" \\25B2";font-size:.7em}
th[aria-sort=descending] [role=button]::after{content:" \\25BC";font-size:.7em}
.picture{overflow-x:auto;margin:.6rem 0;max-width:100%}
.picture svg{display:block;width:100%;height:auto}
@media (max-width:40rem){body{font-size:15px;padding:.75rem .75rem 3rem}th,td{padding:.2rem .4rem}.n{max-width:9rem}}
@media print{@page{size:A4;margin:14mm}
body{max-width:none;padding:0;font-size:10pt}
h2,h3{break-after:avoid}nav{display:none}
.wide,.picture,.tall{overflow:visible;max-height:none}
.tall thead th{position:static}
.picture{break-inside:avoid;break-before:avoid}
.picture svg{min-width:0!important;max-height:235mm}
table{font-size:7.5pt}th,td{padding:.12rem .3rem}tr{break-inside:avoid}
thead{display:table-header-group;break-inside:avoid}.n{max-width:11rem}
th [role=button]::after{content:""!important}}
"""

_SCRIPT = """
document.querySelectorAll("table.sorts").forEach(function(table){
var heads=table.tHead.rows[0].cells,body=table.tBodies[0];
Array.prototype.forEach.call(heads,function(head,column){
var button=document.createElement("span");button.tabIndex=0;button.setAttribute("role","button");
while(head.firstChild)button.appendChild(head.firstChild);
head.appendChild(button);button.title="Sort by this column";
button.addEventListener("keydown",function(event){
if(event.key==="Enter"||event.key===" "){event.preventDefault();button.click()}});
button.addEventListener("click",function(){
var up=head.getAttribute("aria-sort")==="descending"||(!head.hasAttribute("aria-sort")&&head.className==="text");
Array.prototype.forEach.call(heads,function(other){other.removeAttribute("aria-sort")});
head.setAttribute("aria-sort",up?"ascending":"descending");
var rows=Array.prototype.slice.call(body.rows).map(function(row,place){
var cell=row.cells[column],key=cell.getAttribute("data-key");
return{row:row,place:place,key:key===null?cell.textContent:key===""?NaN:parseFloat(key)}});
rows.sort(function(a,b){
if(typeof a.key==="string"||typeof b.key==="string"){
var order=String(a.key).localeCompare(String(b.key),undefined,{numeric:true});return(up?order:-order)||a.place-b.place}
if(isNaN(a.key)||isNaN(b.key))return(isNaN(a.key)-isNaN(b.key))||a.place-b.place;
return(up?a.key-b.key:b.key-a.key)||a.place-b.place});
rows.forEach(function(entry){body.appendChild(entry.row)})})})});
"""

_LONGEST = 80  # characters of a label
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"

Cell = str | int | float | None | tuple[str, float]


def text(label: object) -> str:
    """A label as text of a page; a long one loses its middle."""
    return escape(shorten(printable(str(label)), _LONGEST))


def name(label: object) -> str:
    """A name of a measure, which may break after underscores."""
    return text(label).replace("_", "_<wbr>")


def paragraph(content: str, kind: str = "") -> str:
    """A paragraph of HTML."""
    return f"<p{_class(kind)}>{content}</p>"


def table(
    header: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    *,
    words: Sequence[int] = (0,),
    caption: str = "",
    best: int | None = None,
) -> str:
    """A table that sorts by the columns that are clicked on.

    Args:
        header: names of the columns.
        rows: text, numbers, or a text and the number to sort by.
        words: the columns that hold text; they are on the left, and their cells no numbers.
        caption: above the table.
        best: the row to mark.
    """
    head = "".join(
        f'<th scope="col"{_class("text" if i in words else "")}>{name(cell)}</th>' for i, cell in enumerate(header)
    )
    body = []
    for i, row in enumerate(rows):
        cells = "".join(_cell(cell, j == words[0] if words else False, j in words) for j, cell in enumerate(row))
        body.append(f"<tr{_class('best' if i == best else '')}>{cells}</tr>")
    above = f"<caption>{caption}</caption>" if caption else ""
    tall = " tall" if len(rows) > 25 else ""
    return (
        f'<div class="wide{tall}"><table class="sorts">{above}<thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def _cell(cell: Cell, is_head: bool, is_text: bool) -> str:
    if is_text:
        shown = text("" if cell is None else cell)
        whole = printable(str("" if cell is None else cell))
        hint = f' title="{escape(whole, quote=True)}"' if len(whole) > _LONGEST else ""
        shown = f'<span class="n"{hint}>{shown}</span>'
        return f'<th scope="row">{shown}</th>' if is_head else f'<td class="text">{shown}</td>'
    if isinstance(cell, tuple):
        return f'<td data-key="{_key(cell[1])}">{text(cell[0])}</td>'
    if cell is None:
        return '<td data-key=""></td>'
    if isinstance(cell, str):
        return f"<td>{text(cell)}</td>"
    shown = str(cell) if isinstance(cell, int) else format_number(cell)
    return f'<td data-key="{_key(cell)}">{shown}</td>'


def _key(value: float) -> str:
    """What a script sorts by: Infinity as JavaScript spells it, nothing for nan."""
    if math.isnan(value):
        return ""
    return ("Infinity" if value > 0 else "-Infinity") if math.isinf(value) else f"{value:.17g}"


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""


def page(title: str, lead: Sequence[str], sections: Sequence[tuple[str, str, str]]) -> str:
    """The whole page.

    Args:
        title: plain text.
        lead: sentences of HTML that stand first.
        sections: anchor, heading (plain text) and HTML of each.
    """
    links = "".join(f'<a href="#{anchor}">{text(heading)}</a> ' for anchor, heading, _ in sections)
    body = "".join(
        f'<section id="{anchor}"><h2>{text(heading)}</h2>{content}</section>\n' for anchor, heading, content in sections
    )
    points = "".join(f"<li>{point}</li>" for point in lead)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,"><title>{text(title)}</title><style>{_STYLE}</style></head>\n'
        f'<body><h1>{text(title)}</h1><div class="lead"><ul>{points}</ul></div><nav>{links}</nav>\n{body}'
        f"<script>{_SCRIPT}</script></body></html>\n"
    )
