"""The report in a real browser, if one is installed: it opens offline, tables sort, it prints, also at 390 pixels."""

import base64
import json
import re
import shutil
import subprocess
from html import escape, unescape
from pathlib import Path

import numpy as np
import pytest

import torchclusteval as tce

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [pytest.mark.slow, pytest.mark.skipif(BROWSER is None, reason="needs Chromium")]

# Clicks every header of every table twice, and reports what is out of order, and how large page and pictures are.
PROBE = """<script>
var out={tables:0,buttons:0,wrong:[],errors:[],pictures:[],hidden:0,hints:0};
window.addEventListener("error",function(e){out.errors.push(String(e.message))});
document.querySelectorAll("table.sorts").forEach(function(table,n){out.tables++;
 Array.prototype.forEach.call(table.tHead.rows[0].cells,function(head,column){
  var button=head.querySelector('[role=button]');out.buttons++;
  for(var k=0;k<2;k++){button.click();var up=head.getAttribute("aria-sort")==="ascending";
   var values=Array.prototype.map.call(table.tBodies[0].rows,function(row){
    var cell=row.cells[column],key=cell.getAttribute("data-key");
    return key===null?cell.textContent:key===""?NaN:parseFloat(key)});
   for(var i=1;i<values.length;i++){var a=values[i-1],b=values[i],order;
    if(typeof a==="string")order=a.localeCompare(b,undefined,{numeric:true});
    else if(isNaN(b))continue;else order=isNaN(a)?NaN:a-b;
    if(!(up?order<=0:order>=0))out.wrong.push([n,column,up,String(a),String(b)])}}})});
document.querySelectorAll("img").forEach(function(picture){var box=picture.getBoundingClientRect();
 out.pictures.push([box.width,box.height,picture.naturalWidth]);if(box.right>window.innerWidth)out.hidden++});
document.querySelectorAll(".wide").forEach(function(box){
 var hint=getComputedStyle(box,"::before").content!=="none";out.hints+=hint;
 if(hint!==box.scrollWidth>box.clientWidth+1)out.hidden++});
out.width=document.documentElement.scrollWidth;out.window=window.innerWidth;
window.parent.document.title=JSON.stringify(out)</script></body>"""


# Counts the texts that leave their picture.
CUT = """<script>var cut=0;document.querySelectorAll("svg").forEach(function(svg){var box=svg.getBoundingClientRect();
svg.querySelectorAll("text").forEach(function(text){var own=text.getBoundingClientRect();
cut+=own.left<box.left||own.right>box.right||own.top<box.top||own.bottom>box.bottom})});document.title=cut</script>"""
LONG = "k-means with random initialisation, restart number {:02d} of 30, on features of mean 0 and standard deviation 1"


def run(profile: Path, page: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]
    command += ["--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr", *options, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)


@pytest.fixture(scope="module")
def html() -> str:
    random = np.random.default_rng(0)
    true = random.integers(0, 5, 120)
    names = [LONG.format(i) for i in range(30)]
    pred = {name: np.where(random.uniform(size=120) < (i + 1) / 40, random.integers(0, 6, 120), true) for i, name in
            enumerate(names)}  # fmt: skip
    return str(tce.report(true, pred, n_resamples=100).html)


def test_names_are_whole_in_text_and_distinct_in_pictures(html: str, tmp_path: Path) -> None:
    """They differ in the middle, which pictures leave out where a name is too long."""
    body = unescape(re.sub("<[^>]*>", "", html[html.index("<body>") :]))
    assert all(body.count(LONG.format(i)) >= 2 for i in range(30))
    assert "k-m..." not in body
    drawn = [base64.b64decode(x).decode() for x in re.findall('data:image/svg[^,]*,([^"]*)', html)]
    shown = [[x for x in re.findall("<text[^>]*>([^<]*)</text>", picture) if "k-means" in x] for picture in drawn]
    assert [len(set(found)) for found in shown[:3]] == [30, 30, 30]  # scores, differences (with the best), agreement
    page = tmp_path / "page.html"
    page.write_text(f"<title></title>{''.join(x[x.index('<svg') :] for x in drawn)}{CUT}", encoding="utf-8")
    assert "<title>0</title>" in run(tmp_path / "profile", page, "--dump-dom").stdout


@pytest.mark.parametrize("width", [390, 500, 1280, 1600])
def test_tables_sort_and_pictures_are_drawn(html: str, tmp_path: Path, width: int) -> None:
    page, content = tmp_path / "page.html", html.replace("</body>", PROBE)
    if width < 500:
        content = f'<title></title><iframe width="{width}" height="900" srcdoc="{escape(content)}"></iframe>'
    page.write_text(content)
    done = run(tmp_path / "profile", page, f"--window-size={width},1000", "--dump-dom")
    assert [line for line in done.stderr.splitlines() if "CONSOLE" in line] == []
    title = re.search("<title>(.*?)</title>", done.stdout, flags=re.DOTALL)
    assert title is not None
    found = json.loads(unescape(title[1]))
    assert found["tables"] == 5
    assert found["buttons"] > 25
    assert found["wrong"] == []
    assert found["errors"] == []
    assert found["width"] <= found["window"]
    assert found["window"] <= width
    assert found["hidden"] == 0
    assert (found["hints"] > 0) == (width <= 500)
    assert len(found["pictures"]) == 5
    assert all(w > 200 and h > 80 and own > 100 for w, h, own in found["pictures"])


def printed(html: str, folder: Path) -> bytes:
    page, target = folder / "page.html", folder / "page.pdf"
    page.write_text(html)
    run(folder / "profile", page, f"--print-to-pdf={target}", "--no-pdf-header-footer")
    content = target.read_bytes()
    assert content.startswith(b"%PDF")
    boxes = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", content)
    assert {(round(float(w)), round(float(h))) for w, h in boxes} == {(595, 842)}  # A4
    return content


def pages(content: bytes) -> int:
    return len(re.findall(rb"/Type /Page\b(?!s)", content))


def test_it_prints(html: str, tmp_path: Path) -> None:
    assert pages(printed(html, tmp_path)) > 3


def test_a_long_ranking_prints_on_a_page_or_whole(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    true = random.integers(0, 5, 120)
    pred = {f"a clustering with a name of some length, and number {i}": np.where(
        random.uniform(size=120) < (i + 40) / 800, random.integers(0, 6, 120), true) for i in range(600)}  # fmt: skip
    html = str(tce.report(true, pred, n_resamples=100).html)
    body, ranking = html.index("<body>"), re.search('<section id="ranking">.*?</section>', html, flags=re.DOTALL)
    assert ranking is not None
    alone = f"{html[:body]}<body>{ranking[0]}</body></html>"
    assert pages(printed(alone, tmp_path)) == 1
    assert pages(printed(alone.replace('type="checkbox"', 'type="checkbox" checked'), tmp_path)) > 3
