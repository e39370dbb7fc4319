// The control of the fake, by tests and by RAILGAUGE_FAKE_VERBS.
#include <array>
#include <cerrno>

#include "kernels/fakes/settings.h"
#include "kernels/fakes/verbs/fake_objects.h"
#include "kernels/fakes/verbs/fake_verbs.h"

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
  const std::array settings{Setting{"fail_call", fail_call, 0},
                            Setting{"fail_from", fail_from, 0},
                            Setting{"fail_quietly", fail_quietly, 0},
                            Setting{"transfers_that_count", transfers_that_count, UINT64_MAX},
                            Setting{"flip_byte", flip_byte, 0},
                            Setting{"lose_after", lose_after, 0},
                            Setting{"memlock", memlock, 0},
                            Setting{"port_down", port_down, 0},
                            Setting{"max_inline", max_inline, 256},
                            Setting{"delay_ns", delay_ns, 0},
                            Setting{"flip_write", flip_write, 0},
                            Setting{"fault", fault, 0},
                            Setting{"fault_every", fault_every, 0},
                            Setting{"fail_destroy", fail_destroy, 0},
                            Setting{"infiniband", infiniband, 0},
                            Setting{"iwarp", iwarp, 0},
                            Setting{"hardware_rate", hardware_rate, 0},
                            Setting{"slow_port", slow_port, 0},
                            Setting{"unregister_at", unregister_at, 0},
                            Setting{"lose_datagram", lose_datagram, 0},
                            Setting{"lose_empty", lose_empty, 0},
                            Setting{"no_dmabuf", no_dmabuf, 0},
                            Setting{"no_peermem", no_peermem, 0},
                            Setting{"no_on_demand", no_on_demand, 0},
                            Setting{"no_data_direct", no_data_direct, 0},
                            Setting{"no_data_direct_query", no_data_direct_query, 0},
                            Setting{"right_mapping", right_mapping, 0},
                            Setting{"max_message", max_message, 1U << 31U},
                            Setting{"no_memory_for_queues", no_memory_for_queues, 0},
                            Setting{"no_rate_limit", no_rate_limit, 0},
                            Setting{"no_xrc", no_xrc, 0},
                            Setting{"no_extended", no_extended, 0},
                            Setting{"no_immediate", no_immediate, 0},
                            Setting{"completion_vectors", completion_vectors, 1},
                            Setting{"no_dc", no_dc, 0},
                            Setting{"no_srd", no_srd, 0},
                            Setting{"efa_capabilities", efa_capabilities, 1 + 2 + 8},
                            Setting{"efa_rdma_bytes", efa_rdma_bytes, 1U << 30U},
                            Setting{"srd_overtakes", srd_overtakes, 0}};
  calls = 0;
  failed_call = "";
  transfers = 0;
  writes = 0;
  data_writes = 0;
  datagrams = 0;
  empties = 0;
  gathers = 0;
  last_rate_limit = 0;
  extended_chains = 0;
  highest_vector = 0;
  apply_settings(settings, "RAILGAUGE_FAKE_VERBS");
}

std::mutex& objects_mutex() {
  static std::mutex mutex;
  return mutex;
}

bool is_gone() {
  const VerbsControl& control = verbs_control();
  return control.fail_from != 0 && control.calls + 1 >= control.fail_from;
}

bool is_quiet() { return verbs_control().fail_quietly != 0 && is_gone(); }

bool fails_now(const char* call) {
  VerbsControl& control = verbs_control();
  const bool was_gone = is_gone();
  if (++control.calls != control.fail_call && !was_gone) return false;
  if (*control.failed_call.load() == 0) control.failed_call = call;
  errno = EIO;
  return true;
}

bool transfer_fails_now(const char* call) {
  VerbsControl& control = verbs_control();
  return control.transfers++ < control.transfers_that_count && fails_now(call);
}

}  // namespace railgauge::fake
