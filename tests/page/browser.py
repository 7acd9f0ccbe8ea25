"""Chromium without a window, driven through its debugging pipe: JSON over two pipes, no driver and no package.

    browser.py FILE[#FRAGMENT] WIDTH HEIGHT OUT.png [--dark] [--code JAVASCRIPT]    takes a picture of a page
"""
import argparse
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

COMMANDS = ("chromium", "chromium-browser", "google-chrome")


def find():
    """The command; None where there is none."""
    return next(filter(None, map(shutil.which, COMMANDS)), None)


class Browser:
    """One page. `requests`: the addresses that it has asked for; `errors`: of its scripts;
    `contexts`: where scripts ran, of the page and of frames within."""

    def __init__(self, command, width=1440, height=900):
        self.requests, self.errors, self.contexts = [], [], []
        self._rest, self._number, self._session = b"", 0, None
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        self._process = self._start(command, to_read, to_write)
        os.close(to_read)
        os.close(to_write)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Performance"):
            self.call(domain + ".enable")
        self.resize(width, height)

    def _start(self, command, to_read, to_write):
        """Chromium reads from descriptor 3 and writes to 4. A shell puts the pipes there."""
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
                   "--disable-dev-shm-usage", "--disable-features=IsolateSandboxedIframes",
                   "--user-data-dir=" + self._folder.name, "about:blank"]
        line = f'exec "$0" "$@" 3<&{to_read} 4>&{to_write}'
        return subprocess.Popen(["bash", "-c", line, command, *options], pass_fds=(to_read, to_write),
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def _message(self):
        while b"\0" not in self._rest:
            more = os.read(self._read, 1 << 20)
            if not more:
                raise RuntimeError("chromium has ended")
            self._rest += more
        line, self._rest = self._rest.split(b"\0", 1)
        return json.loads(line)

    def call(self, method, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            got = self._message()
            self._note(got.get("method"), got.get("params"))
            if got.get("id") == self._number:
                if "error" in got:
                    raise RuntimeError(f"{method}: {got['error']}")
                return got["result"]

    def _note(self, event, of):
        if event == "Runtime.exceptionThrown":
            details = of["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif event == "Runtime.executionContextCreated":
            self.contexts.append(of["context"]["id"])
        elif event == "Runtime.executionContextDestroyed":
            self.contexts = [one for one in self.contexts if one != of["executionContextId"]]
        elif event == "Runtime.executionContextsCleared":
            self.contexts = []
        elif event == "Network.requestWillBeSent":
            self.requests.append(of["request"]["url"])

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def value(self, code, **where):
        """The value of an expression in the page; `contextId`: in a frame."""
        got = self.call("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True, **where)
        if "exceptionDetails" in got:
            raise RuntimeError(got["exceptionDetails"]["exception"].get("description"))
        return got["result"].get("value")

    def open(self, path, fragment="", dark=False, seconds=60):
        """Waits until the page says that it is ready."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url="about:blank")
        self.requests.clear()
        self.call("Page.navigate", url="file://" + os.path.abspath(path) + fragment)
        until = time.monotonic() + seconds
        while not self.value("document.documentElement && document.documentElement.dataset.ready"):
            if time.monotonic() > until or self.errors:
                raise RuntimeError(f"{path} does not get ready: {self.errors}")
            time.sleep(0.02)

    def _place(self, selector):
        return self.value(f"(() => {{ const box = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
                          " return [box.x + Math.min(box.width / 2, 60), box.y + box.height / 2]; })()")

    def hover(self, selector):
        x, y = self._place(selector)
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def click(self, selector):
        x, y = self._place(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key):
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=key if len(key) == 1 else "")
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def cpu_seconds(self):
        metrics = self.call("Performance.getMetrics")["metrics"]
        return next(m["value"] for m in metrics if m["name"] == "TaskDuration")

    def picture(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def close(self):
        self._session = None
        try:
            self.call("Browser.close")
        except (OSError, RuntimeError):
            pass
        self._process.wait(20)
        os.close(self._write)
        os.close(self._read)
        self._folder.cleanup()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("width", type=int)
    parser.add_argument("height", type=int)
    parser.add_argument("out")
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--code")
    a = parser.parse_args()
    path, mark, fragment = a.file.partition("#")
    browser = Browser(find(), a.width, a.height)
    try:
        browser.open(path, mark + fragment, a.dark)
        if a.code:
            print(browser.value(a.code))
        browser.value("new Promise(done => setTimeout(done, 200))")
        browser.picture(a.out)
        print(f"{browser.cpu_seconds():.2f} s of CPU", *browser.errors)
    finally:
        browser.close()


if __name__ == "__main__":
    main()
