#!/bin/sh
# fse 1.0.0 (2022) into a virtual environment of its own: sh install_fse.sh FOLDER
#
# It wants NumPy 1 and a gensim of that time, and its shipped C code is older than Python 3.11, so
# that code is made anew from the Cython source. Its setup.py runs only the old way, which later
# versions of pip no longer know. Where this fails (no compiler, a newer Python), the benchmarks
# say "not installed".
set -e
python3 -m venv "$1"
pip="$1/bin/pip --quiet --disable-pip-version-check"
$pip install pip==23.2.1 setuptools==65.7.0 wheel
$pip install numpy==1.26.4 scipy==1.12.0 gensim==4.3.3 scikit-learn==1.5.2 'Cython<3' \
  psutil requests wordfreq huggingface_hub
old_way="--no-deps --no-build-isolation --no-use-pep517"
$pip download $old_way --no-binary fse --dest "$1/source" fse==1.0.0
tar -xzf "$1/source/fse-1.0.0.tar.gz" -C "$1/source"
"$1/bin/cython" -3 "$1/source/fse-1.0.0/fse/models/average_inner.pyx"
$pip install $old_way "$1/source/fse-1.0.0"
"$1/bin/python" -W ignore -c 'from fse.models.average import FAST_VERSION; assert FAST_VERSION >= 0'
