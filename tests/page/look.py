"""Opens pages of `fnz view` in Chromium and checks what they show and do.

    look.py FNZ ROOT

Skipped by name where there is no Chromium, which FNZ_NEED_BROWSER forbids.
"""
import html
import os
import subprocess
import sys
import tempfile
import time
import unittest

import browser

FNZ, ROOT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
WAIT = "new Promise(done => setTimeout(done, 50))"
CONTRAST = """(() => {
  const light = c => { const v = c.match(/[\\d.]+/g).slice(0, 3).map(x => (x /= 255) <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4);
    return .2126 * v[0] + .7152 * v[1] + .0722 * v[2]; };
  const sample = document.body.appendChild(document.createElement("p"));
  const of = name => { sample.style.color = `var(--${name})`; return light(getComputedStyle(sample).color); };
  const weak = (ink, ground) => { const a = of(ink), b = of(ground); return (Math.max(a, b) + .05) / (Math.min(a, b) + .05) < 4.5; };
  const inks = ["ink", "dim", "write", "view", "read", "copy", "good", "move", "name"];
  const found = ["ground", "panel"].flatMap(ground => inks.filter(ink => weak(ink, ground)).map(ink => ink + " on " + ground));
  found.push(...["copy", "good", "move"].filter(name => weak(name, name + "-ground")));
  sample.remove();
  return found;
})()"""


def many(nodes):
    """A text of layers that write a cache and read it: of each module, four nodes."""
    lines = ["fnz 1", 'program(%x0: f32[4], %c: f32[8,4] buffer "c")', "{"]
    for k in range(nodes // 4):
        meta = f"""meta '{{"nn_module_stack": "M,,app.Model;L{k},layers.{k},app.Layer"}}'"""
        lines += [f"  %r{k}: f32[4] offset({k % 8 * 4}) = select.int(%c, 0, {k % 8})  {meta}",
                  f"  %w{k}: f32[4] offset({k % 8 * 4}) = copy_(%r{k}, %x{k})  {meta}",
                  f"  %s{k}: f32[4] = sum.dim_IntList(%c, [0])  {meta}", f"  %x{k + 1}: f32[4] = exp(%s{k})  {meta}"]
    return "\n".join(lines + [f"  return %x{nodes // 4}", "}", ""])


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.browser = browser.Browser(browser.find())

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.folder.cleanup()

    def tearDown(self):
        self.assertEqual(self.browser.errors, [])
        self.browser.resize(1440, 900)

    def page(self, program, *options):
        out = os.path.join(self.folder.name, os.path.basename(program) + ".html")
        subprocess.run([FNZ, "view", program, "-o", out, *options], check=True)
        return out

    def open(self, fixture, *options, fragment="", **how):
        path = self.page(os.path.join(ROOT, "fixtures", fixture), *options)
        self.browser.open(path, fragment, **how)
        return path

    def say(self, code, expected):
        self.assertEqual(self.browser.value(code), expected)

    def says(self, words, where="#panel"):
        text = self.browser.value(f"document.querySelector('{where}').textContent").replace("\u00a0", " ")
        self.assertIn(words, text)

    def selected(self, node):
        self.say("location.hash", "#" + node)
        self.say("document.querySelector('.selected').id", "node-" + node)

    def test_loads_nothing_but_itself(self):
        path = self.open("pt2/kv_cache.pt2")
        self.assertEqual(self.browser.requests, ["file://" + path])
        self.browser.value("fetch('https://example.com').then(() => 0, () => 1)")
        self.say("fetch('https://example.com').then(() => 'loaded', () => 'refused')", "refused")

    def test_keeps_both_orders_and_shows_each_node(self):
        for fixture in ("pt2/kv_cache.pt2", "decode/llama.pt2", "pt2/cond_local_mutation.pt2", "pt2/dynamic_slices.pt2"):
            self.open(fixture)
            self.browser.value("layout.sections.forEach(s => { s.isOpen = true; s.isSpread = true; }), refold()")
            self.say("[model.traced, model.functional].every(list => list.every((n, k) => !k || list[k - 1].row.y < n.row.y))", True)

    def test_shows_writes_state_and_costs(self):
        self.open("pt2/kv_cache.pt2", "--verify")
        self.say("model.traced.filter(n => n.kind === 'write').length", 3)
        self.say("document.querySelectorAll('.cell.write').length", 3)
        self.say("[...document.querySelectorAll('.row .badge.good')].filter(e => e.textContent === 'in place').length", 4)
        self.says("2 of 2", "#top")
        self.says("✓ equal", "#top")
        self.says("Nothing.")

    def test_finds_the_dearest_copy_and_its_reason(self):
        self.open("page/windows.fnz")
        self.says("24 B in 1 copy")
        self.says("no strides describe this view of its memory")
        self.browser.click(".entry")
        self.selected("f3")
        self.says("It copies 24 B: no strides describe this view of its memory. What helps: reshape before transposing")

    def test_lights_partners_and_readers(self):
        self.open("pt2/kv_cache.pt2")
        self.browser.hover("#node-t9")
        self.say("[...document.querySelectorAll('.partner')].map(e => e.id)", ["node-f4"])
        self.say("[...document.querySelectorAll('.reader')].map(e => e.id)", ["node-t16"])

    def test_tells_who_sees_a_write(self):
        self.open("pt2/kv_cache.pt2")
        self.browser.click("#node-t9")
        self.selected("t9")
        self.says("Writes into the memory of %b_kc, all of it.")
        self.says("the caller: kc stays written")
        self.open("page/windows.fnz", fragment="#t1")
        self.says("bytes 8 to 15 of 32")
        self.say("[...document.querySelectorAll('.reader')].map(e => e.id)", ["node-t2"])

    def test_follows_keys(self):
        self.open("pt2/kv_cache.pt2")
        for keys, node in (("w w", "t11"), ("Enter", "f6"), ("ArrowLeft", "t11"), ("ArrowRight", "f6"), ("j", "f7"), ("k", "f6")):
            for key in keys.split():
                self.browser.press(key)
            self.selected(node)
        self.browser.press("Escape")
        self.say("location.hash", "")
        self.says("What a run copies")

    def test_searches(self):
        self.open("pt2/kv_cache.pt2")
        self.browser.press("/")
        self.browser.type("transpose f32[1,2")
        self.say("state.hits.size > 3 && document.querySelectorAll('.cell.hit').length > 3", True)
        self.says(" hits", "#hits")
        self.browser.press("Enter")
        self.say("state.selected.operator", "transpose.int")
        self.browser.value("search('is:write')")
        self.say("[...state.hits].map(n => n.operator)", ["index_copy_", "index_put_", "masked_fill_.Scalar"])

    def test_folds_layers_that_are_alike(self):
        path = os.path.join(self.folder.name, "layers.fnz")
        with open(path, "w", encoding="utf-8") as file:
            file.write(many(20))
        self.browser.open(self.page(path))
        self.say("[...document.querySelectorAll('.section b')].map(e => e.textContent)", ["layers.0", "layers.1 … layers.4"])
        self.says("× 4", "#rows")
        self.says("4 writes", "#rows")
        self.browser.value("select(nodeOf('t17'))")  # within layers.4
        self.selected("t17")
        self.browser.press("f")
        self.say("layout.shown.filter(line => line.section).length", 2)

    def test_takes_names_for_text(self):
        self.open("page/hostile.fnz", fragment="#t0")
        self.say("document.querySelectorAll('img, #panel script, i i').length + document.scripts.length", 2)
        self.says("<img src=x onerror=alert(2)>")
        self.say("document.title.trim()", "hostile.fnz")

    def test_works_in_a_frame(self):
        """A notebook shows the page in a frame that has neither an address nor the rights of the notebook."""
        with open(self.page(os.path.join(ROOT, "fixtures/pt2/kv_cache.pt2")), encoding="utf-8") as file:
            inner = html.escape(file.read())
        path = os.path.join(self.folder.name, "notebook.html")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'<iframe sandbox="allow-scripts" style="width:1400px;height:800px" srcdoc="{inner}"></iframe>'
                       "<script>document.documentElement.dataset.ready = 'yes'</script>")
        self.browser.open(path)
        self.browser.value("new Promise(done => setTimeout(done, 500))")
        inside = next({"contextId": one} for one in self.browser.contexts
                      if self.browser.value("location.href === 'about:srcdoc'", contextId=one))
        self.assertEqual(self.browser.value("document.documentElement.dataset.ready", **inside), "yes")
        self.browser.value("select(nodeOf('t9'))", **inside)
        self.assertEqual(self.browser.value("document.querySelector('.selected').id", **inside), "node-t9")

    def test_fits_narrow_and_dark(self):
        for dark in (False, True):
            self.open("decode/llama.pt2", dark=dark)
            self.say(CONTRAST, [])
        self.browser.resize(800, 1000)
        self.browser.value(WAIT)
        self.say("document.documentElement.scrollWidth <= 800", True)
        self.browser.click("#theme")
        self.say("document.documentElement.dataset.theme", "light")

    def test_prints_all_lines(self):
        self.open("decode/llama.pt2")
        self.browser.value("dispatchEvent(new Event('beforeprint'))")
        self.say("document.querySelectorAll('.row').length === layout.shown.length", True)
        self.browser.value("dispatchEvent(new Event('afterprint'))")
        self.say("document.querySelectorAll('.row').length < layout.shown.length", True)

    def test_stays_usable_with_many_nodes(self):
        path = os.path.join(self.folder.name, "many.fnz")
        with open(path, "w", encoding="utf-8") as file:
            file.write(many(100_000))
        page = self.page(path)
        before = self.browser.cpu_seconds()
        self.browser.open(page, seconds=300)
        print(f"100,000 nodes: {os.path.getsize(page) / 1e6:.1f} MB, {self.browser.cpu_seconds() - before:.1f} s of CPU")
        self.say("layout.rows.length >= 100000 && document.querySelectorAll('.row').length < 100", True)
        self.browser.value("layout.sections.forEach(s => { s.isOpen = true; s.isSpread = true; }), refold(), draw()")
        begin = time.monotonic()
        self.browser.value("byId('scroll').scrollTop = 1e6, draw()")
        self.browser.value("search('exp')")
        self.assertLess(time.monotonic() - begin, 10)
        self.say("state.hits.size", 50_000)


if __name__ == "__main__":
    if browser.find() is None:
        print("skipped: no chromium here")
        sys.exit(1 if os.environ.get("FNZ_NEED_BROWSER") else 0)
    unittest.main(argv=sys.argv[:1])
