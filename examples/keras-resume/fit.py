"""A Keras program in pieces: it goes on with the epoch behind the newest whole checkpoint."""

import os
import sys
import time

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras
import numpy

from voyageur.job.keras import LongRun, latest

EPOCHS = int(sys.argv[1]) if len(sys.argv) > 1 else 60


class Told(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        time.sleep(0.2)  # so that there is time to be cut
        print(f"epoch {epoch + 1}/{EPOCHS}", flush=True)


def fresh_model():
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(4, "tanh"), keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
    return model


inputs = numpy.random.default_rng(0).normal(size=(256, 8)).astype("float32")
model, epoch = latest() or (fresh_model(), 0)
print(f"begins at {epoch}", flush=True)
model.fit(
    inputs, inputs.sum(1), epochs=EPOCHS, initial_epoch=epoch, shuffle=False, verbose=0, callbacks=[Told(), LongRun()]
)  # fmt: skip
weights = numpy.concatenate([weight.flatten() for weight in model.get_weights()]).astype("float64")
print(f"result {float(weights.sum()).hex()} {float((weights**2).sum()).hex()}", flush=True)
