// Bindings only: arrays and strings in, arrays out. `kernels/__init__.py` checks what comes here.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <stdexcept>

#include "batch.hpp"
#include "binding.hpp"
#include "classifiers.hpp"
#include "letters.hpp"
#include "lookup.hpp"
#include "map_rows.hpp"
#include "parse_text.hpp"
#include "skipgram_sentences.hpp"
#include "subwords.hpp"
#include "threads.hpp"

using namespace pmeans;

namespace {

Case case_of(const std::string& name) {
  if (name == "lower") return Case::lower;
  return name == "cased" ? Case::cased : Case::cased_then_lower;
}

Slots slots_of(nb::handle table) {
  auto slots = nb::cast<In<uint64_t, 2>>(table.attr("slots"));
  if (slots.shape(0) < 8 || slots.shape(1) != 2) throw nb::value_error("a word table is too short");
  return {reinterpret_cast<const Slot*>(slots.data()), slots.shape(0)};
}

nb::list bind_lookup(nb::list sentences, nb::list tables, int splitting, int n_threads) {
  const Texts texts(sentences);
  std::vector<Table> prepared;
  std::vector<nb::object> arrays;
  for (nb::handle entry : tables) {
    nb::object table = entry[0];
    auto words = nb::cast<In<uint8_t, 1>>(table.attr("words"));
    auto offsets = nb::cast<In<int64_t, 1>>(table.attr("offsets"));
    if (offsets.size() < 1) throw nb::value_error("a word table is too short");
    prepared.push_back({words.data(), words.size(), offsets.data(), offsets.size() - 1, slots_of(table),
                        nb::cast<int32_t>(table.attr("start")), case_of(nb::cast<std::string>(entry[1])),
                        nb::cast<int32_t>(entry[2]), {}, nullptr, 0});
    nb::object phrases = table.attr("phrases");
    if (!phrases.is_none()) {
      auto marks = nb::cast<In<uint64_t, 1>>(phrases.attr("marks"));
      if (marks.size() < 2 || !std::has_single_bit(marks.size())) throw nb::value_error("marks are no power of two");
      prepared.back().phrases = slots_of(phrases);
      prepared.back().marks = marks.data();
      prepared.back().mark_shift = 65 - static_cast<int>(std::bit_width(marks.size()));
    }
    arrays.push_back(table);
  }
  std::vector<Found> found;
  {
    nb::gil_scoped_release released;
    found = lookup(texts.texts, prepared, static_cast<Splitting>(splitting), n_threads);
  }
  nb::list result;
  for (Found& one : found) {
    std::vector<int64_t> offsets(one.known.size() + 1, 0);
    for (size_t i = 0; i < one.known.size(); ++i) offsets[i + 1] = offsets[i] + one.known[i];
    nb::list words;
    for (const std::string& word : one.unknown_words.words())
      words.append(nb::steal(PyUnicode_DecodeUTF8(word.data(), static_cast<Py_ssize_t>(word.size()),
                                                  "surrogatepass")));
    nb::object joined = nb::none();
    if (prepared[result.size()].marks) joined = nb::cast(to_numpy(std::move(one.joined)));
    result.append(nb::make_tuple(to_numpy(std::move(one.ids)), to_numpy(std::move(offsets)),
                                 to_numpy(std::move(one.unknown)), words, joined));
  }
  return result;
}

// The buckets of all texts' grams, and where those of a text begin.
nb::tuple bind_grams(nb::list sentences, In<uint64_t, 1> letters, size_t n_buckets) {
  const Texts texts(sentences);
  std::vector<int32_t> buckets;
  std::vector<int64_t> offsets{0};
  {
    nb::gil_scoped_release released;
    Grams grams(letters.data(), n_buckets);
    for (const Text& text : texts.texts) {
      const std::vector<int32_t>& found = grams.read(text);
      buckets.insert(buckets.end(), found.begin(), found.end());
      offsets.push_back(static_cast<int64_t>(buckets.size()));
    }
  }
  return nb::make_tuple(to_numpy(std::move(buckets)), to_numpy(std::move(offsets)));
}

GramWeights gram_weights_of(nb::object model) {
  auto letters = nb::cast<In<uint64_t, 1>>(model.attr("letters"));
  auto weights = nb::cast<In<uint8_t, 2>>(model.attr("weights"));
  auto wanted = nb::cast<In<bool, 1>>(model.attr("wanted"));
  return {letters.data(), weights.data(), weights.shape(0), weights.shape(1), wanted.data(),
          wanted.size(), nb::cast<double>(model.attr("sharpness"))};
}

// A column and a probability for each sentence.
nb::tuple bind_identify(nb::list sentences, nb::object model, int n_threads) {
  const Texts texts(sentences);
  const GramWeights prepared = gram_weights_of(model);
  const size_t n = texts.texts.size();
  std::vector<int32_t> columns(n);
  std::vector<float> probabilities(n);
  {
    nb::gil_scoped_release released;
    parallel_for(n, 256, n_threads, [&, reader = Identifier(prepared)](size_t begin, size_t end, size_t) mutable {
      for (size_t i = begin; i < end; ++i) reader.read(texts.texts[i], columns[i], probabilities[i]);
    });
  }
  return nb::make_tuple(to_numpy(std::move(columns)), to_numpy(std::move(probabilities)));
}

// The kernels of one instruction set.
struct Kernels {
  const Kernel& power_mean;
  const MapRows& map_rows;
  const Softmax& softmax;
  const SkipGram& skipgram;
};

// Those of the named set, or of the best one where the name is empty or the processor lacks it.
const Kernels& kernels_named(const std::string& name) {
  static const Kernels baseline{kernel_baseline, map_rows_baseline, softmax_baseline, skipgram_baseline};
  if (name == "baseline") return baseline;
#if defined(PMEANS_X86)
  static const Kernels avx2{kernel_avx2, map_rows_avx2, softmax_avx2, skipgram_avx2};
  static const Kernels avx512{kernel_avx512, map_rows_avx512, softmax_avx512, skipgram_avx512};
  __builtin_cpu_init();
  if (name != "avx2" && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vnni"))
    return avx512;
#if defined(__clang__)  // it cannot ask for F16C, which every processor with AVX2 has
  if (__builtin_cpu_supports("avx2")) return avx2;
#else
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c")) return avx2;
#endif
#endif
  return baseline;
}

Type type_of(const Matrix& matrix) {
  if (matrix.dtype() == nb::dtype<int8_t>()) return Type::int8;
  if (matrix.dtype() == nb::dtype<uint8_t>()) return Type::int4;
  return matrix.dtype().bits == 16 ? Type::float16 : Type::float32;
}

// Columns of a word vector. A byte of int4 has two of them, see `kernels/coded.py`.
size_t dim_of(const Matrix& matrix) {
  return matrix.shape(1) * (type_of(matrix) == Type::int4 ? 2 : 1);
}

// The same complaints as the NumPy core's.
void check_batch(const In<int32_t, 1>& ids, const In<int64_t, 1>& offsets, size_t n_rows) {
  const size_t n = offsets.size();
  const int64_t* offset = offsets.data();
  bool rises = n > 0 && offset[0] == 0 && offset[n - 1] == static_cast<int64_t>(ids.size());
  for (size_t i = 1; i < n; ++i) rises &= offset[i - 1] <= offset[i];
  if (!rises) throw nb::value_error("the batch's offsets must rise from 0 to the number of ids.");
  for (size_t i = 0; i < ids.size(); ++i)
    if (ids.data()[i] < 0 || static_cast<size_t>(ids.data()[i]) >= n_rows)
      throw nb::value_error(("the batch names row " + std::to_string(ids.data()[i]) +
                             "; there are " + std::to_string(n_rows) + ".").c_str());
}

// A space's part of the columns: what is the same for every batch (SpaceMeans in `kernels/means.py`),
// a batch, and vectors composed for it.
class PartArrays {
 public:
  PartArrays(nb::handle means, nb::handle batch, nb::handle composed)
      : matrix_(nb::cast<Matrix>(means.attr("matrix"))),
        scale_(nb::cast<Numbers>(means.attr("scale"))),
        shift_(nb::cast<Numbers>(means.attr("shift"))),
        factor_(nb::cast<Numbers>(means.attr("factor"))),
        powers_(nb::cast<std::vector<double>>(means.attr("numbers"))),
        exponents_(nb::cast<std::optional<In<float, 2>>>(means.attr("exponents"))),
        squarings_(nb::cast<std::optional<In<int8_t, 1>>>(means.attr("squarings"))),
        principal_(nb::cast<std::string>(means.attr("root")) == "principal"),
        composed_(nb::cast<std::optional<In<float, 2>>>(composed)),
        ids_(nb::cast<In<int32_t, 1>>(batch.attr("ids"))),
        offsets_(nb::cast<In<int64_t, 1>>(batch.attr("offsets"))) {
    check_batch(ids_, offsets_, matrix_.shape(0) + (composed_ ? composed_->shape(0) : 0));
  }

  Part part() const {
    const size_t dim = dim_of(matrix_);
    return {{dim, powers_.data(), powers_.size(), principal_, data(exponents_), data(squarings_),
             data(shift_), data(factor_)},
            {type_of(matrix_), matrix_.data(), matrix_.shape(0), dim, data(scale_), data(composed_)},
            {ids_.data(), offsets_.data(), offsets_.size() - 1}};
  }

 private:
  using Numbers = std::optional<In<float, 1>>;
  template <class Array>
  static auto data(const std::optional<Array>& array) -> decltype(array->data()) {
    return array ? array->data() : nullptr;
  }

  Matrix matrix_;
  Numbers scale_, shift_, factor_;
  std::vector<double> powers_;
  std::optional<In<float, 2>> exponents_;
  std::optional<In<int8_t, 1>> squarings_;
  bool principal_;
  std::optional<In<float, 2>> composed_;
  In<int32_t, 1> ids_;
  In<int64_t, 1> offsets_;
};

// A float32 array, or a CodedMatrix of `kernels/coded.py`.
Mapper::Map map_of(nb::handle matrix) {
  if (!nb::hasattr(matrix, "tiles")) {
    const auto numbers = nb::cast<In<float, 2>>(matrix);
    return LinearMap{numbers.data(), numbers.shape(0), numbers.shape(1)};
  }
  const auto tiles = nb::cast<In<int16_t, 4>>(matrix.attr("tiles"));
  const auto scale = nb::cast<In<float, 1>>(matrix.attr("scale"));
  return CodedMap{tiles.data(), scale.data(), nb::cast<double>(matrix.attr("size")), scale.size(),
                  nb::cast<size_t>(matrix.attr("shape")[1]), tiles.shape(1), tiles.shape(0)};
}

void bind_power_means(nb::list means, nb::list batches, nb::list maps, size_t kept, Out out,
                      int n_threads, std::string isa) {
  std::vector<PartArrays> arrays;
  for (size_t k = 0; k < means.size(); ++k)
    arrays.emplace_back(means[k], batches[k][0], batches[k][1]);
  std::vector<Part> parts;
  for (const PartArrays& each : arrays) parts.push_back(each.part());
  std::vector<Mapper::Map> chain;
  for (nb::handle matrix : maps) chain.push_back(map_of(matrix));
  const Kernels& kernels = kernels_named(isa);
  const Strided<float> target{out.data(), out.stride(0)};
  nb::gil_scoped_release released;
  encode_batch(kernels.power_mean, parts, out.shape(0), Mapper(kernels.map_rows, chain, kept),
               !chain.empty(), target, n_threads);
}

void bind_map_rows(StridedRows rows, nb::object matrix, Out out, int n_threads, std::string isa) {
  const std::vector<Mapper::Map> maps{map_of(matrix)};
  const Strided<const float> from{rows.data(), rows.stride(0)};
  const Strided<float> to{out.data(), out.stride(0)};
  const size_t n = rows.shape(0);
  Mapper mapper(kernels_named(isa).map_rows, maps);
  nb::gil_scoped_release released;
  parallel_for(n, block_rows, n_threads, [=](size_t begin, size_t end, size_t) mutable {
    mapper.apply(from_row(from, begin), end - begin, begin, from_row(to, begin));
  });
}

int64_t bind_first_not_finite(Matrix matrix, int n_threads) {
  const Vectors vectors{type_of(matrix), matrix.data(), matrix.shape(0), dim_of(matrix), nullptr, nullptr};
  nb::gil_scoped_release released;
  return first_not_finite(vectors, n_threads);
}

nb::tuple bind_compose(nb::list words, In<float, 2> ngrams, int minn, int maxn, bool folded, int n_threads) {
  const size_t dim = ngrams.shape(1);
  const Subwords subwords{ngrams.data(), ngrams.shape(0), dim, minn, maxn, folded};
  std::vector<std::string> spelled;
  for (nb::handle word : words) {
    // Encoded by Python, so that a lone surrogate has the same bytes as in a look-up.
    nb::object bytes = nb::steal(PyUnicode_AsEncodedString(word.ptr(), "utf-8", "surrogatepass"));
    if (!bytes.is_valid()) throw nb::python_error();
    spelled.emplace_back(PyBytes_AS_STRING(bytes.ptr()), PyBytes_GET_SIZE(bytes.ptr()));
  }
  std::vector<float> vectors(spelled.size() * dim);
  std::vector<int32_t> counts(spelled.size());
  {
    nb::gil_scoped_release released;
    parallel_for(spelled.size(), 64, n_threads, [&](size_t begin, size_t end, size_t) {
      for (size_t i = begin; i < end; ++i)
        counts[i] = subwords.compose(spelled[i], vectors.data() + i * dim);
    });
  }
  const size_t n = spelled.size();
  return nb::make_tuple(to_numpy(std::move(vectors), {n, dim}), to_numpy(std::move(counts)));
}

nb::tuple bind_parse_lines(In<uint8_t, 1> data, size_t dim, int n_threads) {
  std::unique_ptr<float[]> vectors;
  std::vector<uint8_t> words, status;
  std::vector<int64_t> offsets{0};
  {
    nb::gil_scoped_release released;
    text::Lines lines(reinterpret_cast<const char*>(data.data()), data.size(), dim, n_threads);
    vectors.reset(new float[lines.n_rows() * dim]);  // untouched: the threads do that
    status.resize(lines.n_lines());
    std::vector<std::string_view> found(lines.n_rows());
    lines.parse(vectors.get(), status.data(), found.data());
    words.reserve(lines.n_bytes());
    offsets.reserve(lines.n_kept() + 1);
    for (size_t i = 0; i < lines.n_kept(); ++i) {
      words.insert(words.end(), found[i].begin(), found[i].end());
      offsets.push_back(static_cast<int64_t>(words.size()));
    }
  }
  const size_t n = offsets.size() - 1;
  nb::capsule owner(vectors.get(), [](void* p) noexcept { delete[] static_cast<float*>(p); });
  return nb::make_tuple(to_numpy(std::move(words)), to_numpy(std::move(offsets)),
                        NewArray<float>(vectors.release(), {n, dim}, owner),
                        to_numpy(std::move(status)));
}

FitRule rule_of(nb::object rule) {
  auto number = [&](const char* name) { return nb::cast<size_t>(rule.attr(name)); };
  return {number("batch"), number("epochs_a_round"), number("max_epochs"), number("patience"),
          nb::cast<bool>(rule.attr("patience_resets")), nb::cast<std::string>(rule.attr("loss")) == "mean",
          nb::cast<std::string>(rule.attr("measure")) == "macro-f1"};
}

// Of every group a list of (weights, bias, score, epochs).
nb::list bind_train_classifiers(nb::list groups, nb::object rule, int n_threads, std::string isa) {
  const FitRule checked = rule_of(rule);
  nb::tuple alive(groups);  // keeps every array alive, even if another thread changes the list
  std::vector<FitGroup> prepared;
  for (nb::handle group : alive) {
    auto x = nb::cast<In<float, 2>>(group.attr("x"));
    auto labels = nb::cast<In<int32_t, 1>>(group.attr("labels"));
    auto train = nb::cast<In<int32_t, 1>>(group.attr("train"));
    auto dev = nb::cast<In<int32_t, 1>>(group.attr("dev"));
    auto weights = nb::cast<In<float, 2>>(group.attr("weights"));
    auto bias = nb::cast<In<float, 1>>(group.attr("bias"));
    prepared.push_back({x.data(), x.shape(1), weights.shape(0), labels.data(), train.data(), dev.data(),
                        train.size(), dev.size(), nb::cast<uint32_t>(group.attr("seed")),
                        nb::cast<size_t>(group.attr("drawn")), weights.data(), bias.data(),
                        nb::cast<std::vector<double>>(group.attr("rates")),
                        nb::cast<std::vector<double>>(group.attr("l2"))});
  }
  std::vector<std::vector<Fitted>> fitted;
  {
    nb::gil_scoped_release released;
    fitted = train_groups(kernels_named(isa).softmax, prepared, checked, n_threads);
  }
  nb::list result;
  for (size_t i = 0; i < prepared.size(); ++i) {
    nb::list fits;
    for (Fitted& fit : fitted[i])
      fits.append(nb::make_tuple(to_numpy(std::move(fit.weights), {prepared[i].n_classes, prepared[i].dim}),
                                 to_numpy(std::move(fit.bias)), fit.score, fit.epochs));
    result.append(fits);
  }
  return result;
}

void bind_train_skipgram(nb::object job, Changed inputs, Changed outputs, size_t epoch, size_t begin,
                         size_t end, int n_threads, std::string isa) {
  auto ids = nb::cast<In<int32_t, 1>>(job.attr("ids"));
  auto offsets = nb::cast<In<int64_t, 1>>(job.attr("offsets"));
  auto keep = nb::cast<In<uint64_t, 1>>(job.attr("keep"));
  auto coin = nb::cast<In<uint64_t, 1>>(job.attr("coin"));
  auto alias = nb::cast<In<int32_t, 1>>(job.attr("alias"));
  auto pieces = nb::cast<std::optional<In<int32_t, 1>>>(job.attr("pieces"));
  auto borders = nb::cast<std::optional<In<int64_t, 1>>>(job.attr("borders"));
  auto number = [&](const char* name) { return nb::cast<size_t>(job.attr(name)); };
  const SkipGramJob prepared{ids.data(), offsets.data(), offsets.size() - 1, keep.data(), coin.data(),
                             alias.data(), keep.size(), pieces ? pieces->data() : nullptr,
                             borders ? borders->data() : nullptr, number("window"), number("negatives"),
                             number("epochs"), nb::cast<double>(job.attr("rate")),
                             nb::cast<double>(job.attr("last_rate")), number("seed"),
                             nb::cast<bool>(job.attr("shuffle"))};
  nb::gil_scoped_release released;
  train_sentences(kernels_named(isa).skipgram, prepared, inputs.data(), outputs.data(), inputs.shape(1), epoch,
                  begin, end, n_threads);
}

}  // namespace

NB_MODULE(_native, m) {
  m.attr("NAME") = kernels_named("").power_mean.name;
  m.def("lookup", bind_lookup, nb::arg("sentences"), nb::arg("tables"), nb::arg("splitting"),
        nb::arg("n_threads"));
  m.def("grams", bind_grams, nb::arg("sentences"), nb::arg("letters"), nb::arg("n_buckets"));
  m.def("identify", bind_identify, nb::arg("sentences"), nb::arg("model"), nb::arg("n_threads"));
  m.def("power_means", bind_power_means, nb::arg("means"), nb::arg("batches"), nb::arg("maps"), nb::arg("kept"),
        nb::arg("out"), nb::arg("n_threads"), nb::arg("isa") = "");
  m.def("map_rows", bind_map_rows, nb::arg("rows"), nb::arg("matrix"), nb::arg("out"),
        nb::arg("n_threads"), nb::arg("isa") = "");
  m.def("first_not_finite", bind_first_not_finite, nb::arg("matrix"), nb::arg("n_threads"));
  m.def("compose", bind_compose, nb::arg("words"), nb::arg("ngrams"), nb::arg("minn"),
        nb::arg("maxn"), nb::arg("folded"), nb::arg("n_threads"));
  m.def("parse_lines", bind_parse_lines, nb::arg("data"), nb::arg("dim"), nb::arg("n_threads"));
  m.def("train_classifiers", bind_train_classifiers, nb::arg("groups"), nb::arg("rule"),
        nb::arg("n_threads"), nb::arg("isa") = "");
  m.def("train_skipgram", bind_train_skipgram, nb::arg("job"), nb::arg("inputs"), nb::arg("outputs"),
        nb::arg("epoch"), nb::arg("begin"), nb::arg("end"), nb::arg("n_threads"), nb::arg("isa") = "");
}
