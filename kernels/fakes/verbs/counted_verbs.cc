// The real libibverbs with one difference, for a program that runs under callgrind: instructions
// are counted from the first completion to the last, but not while the completion queue is polled.
// So what is counted is what a program does to post. A poll waits until something completed (a
// moment at most), for how often a program polls in vain says more about the machine than about it.
//
// Preloaded, or loaded in libibverbs' place. COUNTED_VERBS_COMPLETIONS: which completion is the
// last. Only for programs with one thread and one completion queue in use.
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
  // Not RTLD_NEXT: where this is loaded late, no order says what comes next.
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
