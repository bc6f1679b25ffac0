"""Windows and questions: found under any name, and not where nobody would see them."""

from pathlib import Path

import pytest

from tests.readiness.projects import brief, findings, program

WINDOWS = {
    "import matplotlib.pyplot as p\np.show()": "warning",
    "from matplotlib.pyplot import show as s\ns()": "warning",
    "from matplotlib import pyplot\npyplot.show(block=True)": "warning",
    "import matplotlib.pyplot\nmatplotlib.pyplot.show()": "warning",
    "import matplotlib.pyplot as plt\nfigure, axes = plt.subplots(); figure.show()": "warning",
    "import matplotlib\nmatplotlib.use('TkAgg')": "error",
    "import matplotlib.pyplot as plt\nplt.switch_backend('Qt5Agg')": "error",
    "import cv2\ncv2.imshow('frame', 1)": "error",
    "import cv2 as cv\ncv.waitKey(0)": "error",
    "import tkinter as tk\ntk.Tk()": "error",
    "from tkinter import filedialog\nfiledialog.askopenfilename()": "error",
    "from PyQt5.QtWidgets import QApplication\nQApplication([])": "error",
    "from PySide6 import QtWidgets\nQtWidgets.QApplication([])": "error",
    "import pygame\npygame.display.set_mode((1, 1))": "error",
    "import turtle\nturtle.forward(3)": "error",
    "from PIL import Image\nImage.open('a.png').convert('L').show()": "warning",
    "from PIL import Image\nwith Image.open('a.png') as i: i.show()": "warning",
    "import plotly.express as px\nf = px.scatter(1); f.show()": "warning",
    "import plotly.graph_objects as go\ngo.Figure().show()": "warning",
    "import bokeh.plotting as b\nb.show(1)": "warning",
    "x = 1\nget_ipython().run_line_magic('matplotlib', 'inline')": "error",
}


@pytest.mark.parametrize(("text", "level"), WINDOWS.items())
def test_windows_are_found(text: str, level: str, tmp_path: Path) -> None:
    assert program(tmp_path, text) == [f"{level} train.py:2 graphical-display"]


@pytest.mark.parametrize(
    "text",
    [
        "# plt.show()\n",
        '"""plt.show() opens a window\n\nimport matplotlib.pyplot as plt\nplt.show()\n"""\n',
        "print('plt.show()')\n",
        "def show(): print(1)\nshow()\n",
        "class Figure:\n    def show(self): print(self)\nFigure().show()\n",
        "from mine import plt\nplt.show()\n",
        "import matplotlib\nmatplotlib.use('Agg')\nimport matplotlib.pyplot as plt\nplt.show()\n",
        "import os\nos.environ['MPLBACKEND'] = 'Agg'\nimport matplotlib.pyplot as plt\nplt.show()\n",
        "import matplotlib.pyplot as plt\nplt.savefig('a.png')\n",
        "import matplotlib.pyplot as plt\nheadless = True\nif not headless:\n    plt.show()\n",
        "import os\nimport matplotlib.pyplot as plt\nif os.environ.get('DISPLAY'):\n    plt.show()\n",
        "import matplotlib.pyplot as plt\ndef f(show):\n    if not show:\n        return\n    plt.show()\nf(0)\n",
        "import matplotlib.pyplot as plt\nif False:\n    plt.show()\n",
        "import matplotlib.pyplot as plt\ndef never_called():\n    plt.show()\n",
        "import cv2\ncv2.imwrite('a.png', 1)\n",
        "def f(plt):\n    plt.show()\nf(1)\n",
        "import matplotlib.pyplot as plt\nfor plt in ():\n    plt.show()\n",
    ],
)
def test_what_opens_no_window_is_left_alone(text: str, tmp_path: Path) -> None:
    assert program(tmp_path, text) == []


def test_a_switch_of_the_program_that_the_command_does_not_give_is_off(tmp_path: Path) -> None:
    text = (
        "import argparse, cv2\n"
        "parser = argparse.ArgumentParser()\n"
        "parser.add_argument('--camera', action='store_true')\n"
        "args = parser.parse_args()\n"
        "if args.camera:\n"
        "    cv2.imshow('x', 1)\n"
    )
    assert program(tmp_path, text) == []
    assert program(tmp_path, text, command="python train.py --camera") == ["error train.py:6 graphical-display"]


def test_a_variable_of_the_spec_is_enough(tmp_path: Path) -> None:
    text = "import matplotlib.pyplot as plt\nplt.show()\n"
    assert program(tmp_path, text, env__variables={"MPLBACKEND": "Agg"}) == []


def test_what_is_caught_is_no_error(tmp_path: Path) -> None:
    text = "import cv2\ntry:\n    cv2.imshow('x', 1)\nexcept cv2.error:\n    pass\n"
    assert program(tmp_path, text) == ["warning train.py:3 graphical-display"]


def test_the_fix_says_what_to_write(tmp_path: Path) -> None:
    (found,) = findings(tmp_path, {"train.py": "import cv2\ncv2.imshow('frame', 1)\n"})
    assert found.fix.startswith("cv2.imwrite(")
    assert found.what == "cv2.imshow() opens a window"


# ── questions ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "text",
    [
        "print(1)\ninput('go on?')",
        "import getpass\ngetpass.getpass()",
        "from getpass import getpass\ngetpass()",
        "import pdb\npdb.set_trace()",
        "print(1)\nbreakpoint()",
        "if __name__ == '__main__':\n    input()",
    ],
)
def test_questions_are_found(text: str, tmp_path: Path) -> None:
    assert program(tmp_path, text) == ["error train.py:2 asks-for-input"]


def test_a_question_under_a_condition_may_never_be_asked(tmp_path: Path) -> None:
    text = "import os\nif os.path.exists('results'):\n    input('overwrite?')\n"
    assert program(tmp_path, text) == ["warning train.py:3 asks-for-input"]


@pytest.mark.parametrize(
    "text",
    [
        "def input(text): return text\ninput('x')\n",
        "from mine import input\ninput()\n",
        "def f(input):\n    input()\nf(print)\n",
        "import sys\nif sys.stdin.isatty():\n    input()\n",
        "class A:\n    def input(self): pass\nA().input()\n",
        "input = 3\nprint(input)\n",
    ],
)
def test_what_asks_nobody_is_left_alone(text: str, tmp_path: Path) -> None:
    assert program(tmp_path, text) == []


def test_shell_scripts_ask_too(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "run.sh": "#!/bin/bash\nread -p 'go on? ' answer\nwhile read line; do :; done < x\n"
    }
    assert brief(findings(tmp_path, files, command="bash run.sh")) == ["error run.sh:2 asks-for-input"]
