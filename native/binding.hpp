// What all bindings share: types of arrays, and Python's strings as they lie in memory.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <vector>

#include "lookup.hpp"

namespace nb = nanobind;

template <class T, int n_dims>
using In = nb::ndarray<const T, nb::ndim<n_dims>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Changed = nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Out = nb::ndarray<float, nb::ndim<2>, nb::device::cpu>;
using StridedRows = nb::ndarray<const float, nb::ndim<2>, nb::device::cpu>;
template <class T>
using NewArray = nb::ndarray<nb::numpy, T>;

namespace pmeans {

// Hands a vector's memory over to NumPy.
template <class T>
NewArray<T> to_numpy(std::vector<T>&& values, std::initializer_list<size_t> shape) {
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  T* data = owned->data();
  nb::capsule owner(owned.release(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return NewArray<T>(data, shape, owner);
}
template <class T>
NewArray<T> to_numpy(std::vector<T>&& values) {
  const size_t n = values.size();
  return to_numpy(std::move(values), {n});
}

inline Text text_of(PyObject* object) {
  if (!PyUnicode_Check(object)) throw nb::type_error("expected str");
#if PY_VERSION_HEX < 0x030C0000
  if (PyUnicode_READY(object) < 0) throw nb::python_error();
#endif
  return {PyUnicode_DATA(object), static_cast<size_t>(PyUnicode_GET_LENGTH(object)),
          static_cast<int>(PyUnicode_KIND(object))};
}

// The tuple keeps every string alive, even if another thread changes the list meanwhile.
struct Texts {
  explicit Texts(nb::list sentences) : alive(sentences) {
    texts.reserve(alive.size());
    for (nb::handle sentence : alive) texts.push_back(text_of(sentence.ptr()));
  }
  nb::tuple alive;
  std::vector<Text> texts;
};

}  // namespace pmeans
