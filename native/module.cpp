// Bindings only.
#include <nanobind/nanobind.h>
namespace nb = nanobind;
NB_MODULE(_native, m) { m.attr("NAME") = "native"; }
