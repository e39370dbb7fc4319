#include "kernels/verbs/transport/handles.h"

#include <cstdio>

#include <fmt/format.h>

#include "kernels/verbs/transport/words.h"

namespace railgauge::verbs {

void note_release(std::string_view act, int error) {
  if (error == 0) return;
  fmt::print(stderr, "verbs: {}: {}; the device may be gone\n", act, errno_words(error));
}

}  // namespace railgauge::verbs
