// Fork and join within one call: no pool, no global state, nothing that a fork could break.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace pmeans {

// Calls work(begin, end, chunk) for consecutive ranges of `grain` out of n, on up to n_threads
// threads, this one included. Each thread calls a copy of its own, so what a lambda captures by
// value is its thread's scratch. The first exception is rethrown here when all have stopped.
template <class Work>
void parallel_for(size_t n, size_t grain, int n_threads, const Work& work) {
  const size_t chunks = (n + grain - 1) / grain;
  std::atomic<size_t> next{0};
  std::exception_ptr failure;
  std::mutex mutex;
  auto run = [&] {
    try {
      Work mine = work;
      for (size_t chunk; (chunk = next.fetch_add(1)) < chunks;)
        mine(chunk * grain, std::min(n, (chunk + 1) * grain), chunk);
    } catch (...) {
      next.store(chunks);
      std::lock_guard<std::mutex> lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  std::vector<std::thread> helpers;
  const size_t wanted = std::min<size_t>(std::max(n_threads, 1), chunks);
  try {
    helpers.reserve(wanted);
    while (helpers.size() + 1 < wanted) helpers.emplace_back(run);
  } catch (const std::system_error&) {
    // The system grants no more threads: those we have do the work.
  }
  run();
  for (auto& helper : helpers) helper.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace pmeans
