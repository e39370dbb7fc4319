// The parameters that the latency kernels declare.
#include <fmt/format.h>

#include "kernels/verbs/latency.h"

namespace railgauge::verbs {

// `signal_every` exists only where completions are no part of the figure: reads and atomics
// complete one by one.
KernelInfo latency_info(const LatencyForm& form) {
  const Operation& does = operation_of(form.verb);
  InfoBuilder builder(form.name, form.revision, form.summary);
  builder.ranks(2, 2).endpoint("nic").metrics({"latency_ns"});
  if (does.is_atomic())
    add_atomic_operation(builder);
  else
    builder.sizes("8,4KiB");
  if (!does.fetches)
    builder
        .integer("signal_every", fmt::format("{} from one completion to the next", form.plural), 1,
                 1, 1024)
        .identity();
  if (form.verb != Verb::kWrite) add_poll(builder);  // a write is waited for in memory
  builder.sampling(does.fetches ? form.plural : "round trips", 1000, 100'000);
  add_added_cost(builder,
                 "test control: each round trip is made longer by this share of its own time");
  add_connection(builder, form.connection);
  return builder.build();
}

}  // namespace railgauge::verbs
