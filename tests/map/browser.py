"""A headless Chromium, driven over the WebDriver protocol (W3C, and Chromium's own parts of it)."""

import base64
import json
import subprocess
import time
import urllib.error
import urllib.request


class Browser:
    """One window. Use it in a `with`."""

    def __init__(self, width=1440, height=900):
        self.size = (width, height)

    def __enter__(self):
        self.driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        port = None
        for line in self.driver.stdout:
            if "started successfully on port" in line:
                port = int(line.rstrip(".\n").rsplit(" ", 1)[1])
                break
        self.root = f"http://127.0.0.1:{port}"
        arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--force-device-scale-factor=1",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            f"--window-size={self.size[0]},{self.size[1]}",
        ]
        wishes = {"goog:chromeOptions": {"args": arguments}, "goog:loggingPrefs": {"browser": "ALL"}}
        made = self.ask("POST", "/session", {"capabilities": {"alwaysMatch": wishes}})
        self.root += f"/session/{made['sessionId']}"
        return self

    def __exit__(self, *_):
        try:
            self.ask("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()

    def ask(self, method, path, body=None):
        data = None if method == "GET" else json.dumps(body or {}).encode()
        request = urllib.request.Request(self.root + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"]) from None

    def command(self, name, **parameters):
        """Runs a command of the DevTools protocol."""
        return self.ask("POST", "/goog/cdp/execute", {"cmd": name, "params": parameters})

    def open(self, url):
        self.ask("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        """Runs the body of a function in the page, and returns its value."""
        return self.ask("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def until(self, script, *arguments, seconds=15):
        """Runs a script until it returns something true, and returns that; else what it returned last."""
        end = time.monotonic() + seconds
        while True:
            seen = self.run(script, *arguments)
            if seen or time.monotonic() > end:
                return seen
            time.sleep(0.1)

    def press(self, *keys):
        """Presses keys one after another, as WebDriver writes them."""
        actions = []
        for key in keys:
            actions += [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        self.ask("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def scheme(self, name):
        """Chooses dark or light."""
        self.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def picture(self, file):
        with open(file, "wb") as out:
            out.write(base64.b64decode(self.ask("GET", "/screenshot")))

    def console(self):
        """Returns the errors and warnings that came since it was asked last."""
        return [e["message"] for e in self.ask("POST", "/se/log", {"type": "browser"}) if e["level"] in ("SEVERE", "WARNING")]
