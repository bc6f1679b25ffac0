"""What opens a window, and what to write instead."""

from __future__ import annotations

from typing import NamedTuple

from voyageur.readiness.listed import listed


class Display(NamedTuple):
    """`dies`: without a display the program ends there. `unless`: a variable that makes it harmless."""

    fix: str
    dies: bool = True
    unless: str = ""


_SAVE = "plt.savefig('figure.png'), and MPLBACKEND = \"Agg\" in [env] variables"
_CV = "cv2.imwrite('frame.png', image), and the package opencv-python-headless"
_TK = "take windows out of the path of the job: options for what they ask, files for what they show"
_QT = 'QT_QPA_PLATFORM = "offscreen" in [env] variables, and take windows out of the path of the job'
_PLOTLY = "fig.write_html('figure.html'), or fig.write_image('figure.png')"

_TURTLE = Display("draw with matplotlib or PIL, and save the picture into a file")
_FIGURE = Display(_SAVE, dies=False, unless="MPLBACKEND")
_WINDOW = Display(_TK)
_QT_WINDOW = Display(_QT, unless="QT_QPA_PLATFORM")

EXACT = {
    "matplotlib.pyplot.show": _FIGURE,
    "matplotlib.pylab.show": _FIGURE,
    "pylab.show": _FIGURE,
    "matplotlib.pyplot.figure().show": _FIGURE,
    "matplotlib.pyplot.subplots()[].show": _FIGURE,
    "matplotlib.pyplot.gcf().show": _FIGURE,
    "cv2.imshow": Display(_CV),
    "cv2.namedWindow": Display(_CV),
    "cv2.waitKey": Display(_CV),
    "cv2.selectROI": Display(_CV),
    "tkinter.Tk": _WINDOW,
    "tkinter.Toplevel": _WINDOW,
    "tkinter.mainloop": _WINDOW,
    "pygame.display.set_mode": Display(
        'SDL_VIDEODRIVER = "dummy" in [env] variables, and pygame.image.save', unless="SDL_VIDEODRIVER"
    ),
    "mayavi.mlab.show": Display("mlab.options.offscreen = True, and mlab.savefig('figure.png')"),
    "open3d.visualization.draw_geometries": Display("open3d.visualization.rendering.OffscreenRenderer"),
    "wx.App": _WINDOW,
    "glfw.init": Display("render off screen, with EGL or OSMesa"),
    "bokeh.plotting.show": Display("bokeh.plotting.save(figure, 'figure.html')", dies=False),
    "bokeh.io.show": Display("bokeh.io.save(figure, 'figure.html')", dies=False),
    "webbrowser.open": Display("write what it would show into a file", dies=False),
    "turtle.Turtle": _TURTLE,
    "turtle.Screen": _TURTLE,
    "turtle.forward": _TURTLE,
    "turtle.done": _TURTLE,
    "napari.run": _WINDOW,
    "napari.Viewer": _WINDOW,
}
_QT_NAMES = ("PyQt5.", "PyQt6.", "PySide2.", "PySide6.")
# Beginnings and ends: whatever comes between, `Image.open(path).convert("L").show()`.
_ENDS = (
    ("PIL.Image.", ".show", Display("image.save('picture.png')", dies=False)),
    ("plotly.", ".show", Display(_PLOTLY, dies=False)),
    ("altair.", ".show", Display("chart.save('chart.html')", dies=False)),
    ("tkinter.filedialog.", "", _WINDOW),
    ("tkinter.messagebox.", "", _WINDOW),
    ("tkinter.simpledialog.", "", _WINDOW),
    ("pyautogui.", "", _WINDOW),
)

STARTS = (*_QT_NAMES, *(start for start, _, _ in _ENDS))

_GUI_BACKENDS = ("tk", "qt", "gtk", "wx", "macosx", "webagg", "nbagg", "notebook", "widget", "ipympl")
BACKEND_CALLS = frozenset({"matplotlib.use", "matplotlib.pyplot.switch_backend"})
_BACKEND = Display('matplotlib.use("Agg"), or MPLBACKEND = "Agg" in [env] variables')


def display_of(name: str) -> Display | None:
    if name in EXACT:
        return EXACT[name]
    if name.startswith(_QT_NAMES):
        return _QT_WINDOW if name.endswith(("QApplication", "QGuiApplication")) else None
    return next((display for start, end, display in _ENDS if name.startswith(start) and name.endswith(end)), None)


def backend(text: str) -> Display | None:
    """A backend of matplotlib's that needs a window. `Agg`, `pdf`, `svg` need none."""
    return _BACKEND if text.lower().startswith(_GUI_BACKENDS) else None


# What people name the switches with which their programs show windows, or do not.
HEADLESS_WORDS = listed(
    "headless display show plot plots gui interactive visual visualize visualise vis viz render draw debug view viewer"
    " window screen x11 isatty no_display"
)
