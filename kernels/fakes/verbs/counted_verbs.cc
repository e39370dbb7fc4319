// The real libibverbs with one difference, for a program under callgrind: instructions are counted
// from the first completion to the last, but not while the completion queue is polled, so the count
// is the cost of posting. A poll waits (a moment at most) until something completed, because the
// number of empty polls depends more on the machine than on the program.
//
// Preloaded, or loaded in place of libibverbs. COUNTED_VERBS_COMPLETIONS is the number of the last
// completion. Only for programs with one thread and one completion queue in use.
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <valgrind/callgrind.h>

#include <cstdlib>

namespace {

constexpr int kMostPolls = 100'000;

struct State {
  int (*poll)(ibv_cq*, int, ibv_wc*) = nullptr;
  long completions = 0;
  long last = 0;
  bool counts = false;
} g_state;

void count(bool on) {
  if (g_state.counts == on) return;
  g_state.counts = on;
  CALLGRIND_TOGGLE_COLLECT;
}

int poll_uncounted(ibv_cq* queue, int most, ibv_wc* completions) {
  const bool counted = g_state.counts;
  count(false);
  int found = 0;
  for (int i = 0; i < kMostPolls && found == 0; ++i) found = g_state.poll(queue, most, completions);
  if (found > 0) g_state.completions += found;
  const bool inside = g_state.completions > 0 && g_state.completions < g_state.last;
  count(inside && (counted || found > 0));
  return found;
}

}  // namespace

extern "C" [[gnu::visibility("default")]] ibv_context* ibv_open_device(ibv_device* device) {
  // Not RTLD_NEXT: after a late load, no order determines the next library.
  void* library = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_NOLOAD);
  using Open = ibv_context* (*)(ibv_device*);
  const auto open = library == nullptr
                        ? nullptr
                        : reinterpret_cast<Open>(dlvsym(library, "ibv_open_device", "IBVERBS_1.1"));
  const char* last = std::getenv("COUNTED_VERBS_COMPLETIONS");
  if (open == nullptr || last == nullptr) return nullptr;
  g_state.last = std::atol(last);
  ibv_context* context = open(device);
  if (context == nullptr) return nullptr;
  g_state.poll = context->ops.poll_cq;
  context->ops.poll_cq = poll_uncounted;
  return context;
}
