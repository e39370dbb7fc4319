// The CPU cost of a transfer: CPU time, user and system, of the working threads, reported beside
// the figure. Work of the Linux kernel in interrupts or in its own threads is not counted.
#pragma once

#include <string>
#include <string_view>

namespace railgauge {

// Returns the CPU time of the calling thread in ns. A system call: call it at the ends of a
// sampling, never in a timed iteration.
double thread_cpu_ns();

// The CPU time that one end spent on a number of messages.
struct CpuCost {
  double cpu_ns = 0;
  // Messages of this end; 0 when no cost can be computed.
  double messages = 0;
};

// Formats a cost with four significant digits, "0.125": enough for a fact.
std::string cost_words(double value);

// Adds the facts beside a bandwidth: CPU seconds for 10^9 bytes and for 10^6 messages. `prefix`
// names the end: "" or "peer_".
template <class Facts>
void add_bandwidth_cost(const CpuCost& cost, double message_bytes, const std::string& prefix,
                        Facts& facts) {
  if (cost.messages <= 0) return;
  const double seconds_per_message = cost.cpu_ns / 1e9 / cost.messages;
  facts[prefix + "cpu_seconds_per_gigabyte"] =
      cost_words(seconds_per_message / message_bytes * 1e9);
  facts[prefix + "cpu_seconds_per_million_messages"] = cost_words(seconds_per_message * 1e6);
}

// Adds the fact beside a latency: CPU time in ns for each message that this end sent.
template <class Facts>
void add_latency_cost(const CpuCost& cost, const std::string& prefix, Facts& facts) {
  if (cost.messages > 0)
    facts[prefix + "cpu_ns_per_message"] = cost_words(cost.cpu_ns / cost.messages);
}

}  // namespace railgauge
