// How a test steers the fake, and how RAILGAUGE_FAKE_VERBS does.
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "kernels/fakes/fake_objects.h"
#include "kernels/fakes/fake_verbs.h"

namespace railgauge::fake {

VerbsControl& verbs_control() {
  static VerbsControl* control = [] {
    auto* made = new VerbsControl;
    made->reset();
    return made;
  }();
  return *control;
}

void VerbsControl::reset() {
  struct Setting {
    std::string_view name;
    std::atomic<std::uint64_t>& value;
    std::uint64_t initial;
  };
  const std::array settings{Setting{"fail_call", fail_call, 0},
                            Setting{"flip_byte", flip_byte, 0},
                            Setting{"lose_after", lose_after, 0},
                            Setting{"memlock", memlock, 0},
                            Setting{"port_down", port_down, 0},
                            Setting{"max_inline", max_inline, 256},
                            Setting{"delay_ns", delay_ns, 0},
                            Setting{"flip_write", flip_write, 0},
                            Setting{"fail_destroy", fail_destroy, 0},
                            Setting{"infiniband", infiniband, 0},
                            Setting{"unregister_at", unregister_at, 0},
                            Setting{"lose_datagram", lose_datagram, 0},
                            Setting{"max_message", max_message, 1U << 31U},
                            Setting{"no_memory_for_queues", no_memory_for_queues, 0}};
  for (const Setting& setting : settings) setting.value = setting.initial;
  calls = 0;
  writes = 0;
  data_writes = 0;
  datagrams = 0;
  const char* environment = std::getenv("RAILGAUGE_FAKE_VERBS");
  std::string_view rest = environment != nullptr ? environment : "";
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    const std::size_t equals = item.find('=');
    for (const Setting& setting : settings) {
      std::uint64_t value = 1;
      if (equals != std::string_view::npos)
        std::from_chars(item.data() + equals + 1, item.data() + item.size(), value);
      if (item.substr(0, equals) == setting.name) setting.value = value;
    }
  }
}

std::mutex& objects_mutex() {
  static std::mutex mutex;
  return mutex;
}

bool fails_now() {
  VerbsControl& control = verbs_control();
  if (++control.calls != control.fail_call) return false;
  errno = EIO;
  return true;
}

}  // namespace railgauge::fake
