// The Hello of an attacking agent: sound by default, hostile where asked.
#pragma once

#include <cstddef>
#include <string>

#include "controller/api/agent.pb.h"
#include "controller/api/contract.h"
#include "controller/testing/attacker/arguments.h"

namespace railgauge::attacker {

// A terminal's escape sequence, a carriage return and a line feed: a forged line of a log.
inline std::string hostile_text() {
  return "\x1b[31mred\x1b[0m\r\n2026-01-01T00:00:00.000Z info forged line";
}

// Keys: name, id, incarnation, metric; escape=1 puts hostile text into each text that is no name;
// bytes=N and where=name|version|facts|kernels make it so long; synthetic=1 says that the node is
// modelled; changes=WORD puts 48 KB with the word into facts, stack and device.
inline api::AgentMessage hello_of(const Arguments& arguments) {
  const bool hostile = arguments.has("escape");
  const std::string tail = hostile ? hostile_text() : "";
  api::AgentMessage message;
  api::Hello& hello = *message.mutable_hello();
  *hello.mutable_contract() = api::to_message(api::kContract);
  hello.set_name(arguments.text("name"));
  hello.set_node_id(arguments.text("id", "id-" + arguments.text("name")));
  hello.set_incarnation(arguments.text("incarnation", "first"));
  hello.set_version("0.2.0" + tail);
  api::Nic& nic = *hello.add_nics();
  nic.set_device("rxe0" + tail);
  nic.set_port(1);
  nic.set_state("active" + tail);
  nic.set_netdev("eth0" + tail);
  nic.set_firmware("1.0" + tail);
  nic.set_driver("rdma_rxe" + tail);
  nic.set_link_layer("ethernet" + tail);
  nic.set_rate_bits_per_second(1e9);
  api::Gpu& gpu = *hello.add_gpus();
  gpu.set_name("gpu0");
  gpu.set_pci_address("0000:17:00.0" + tail);
  gpu.set_uuid("GPU-attacker" + tail);
  gpu.set_model("Fake GPU" + tail);
  gpu.set_state("active");
  gpu.set_driver("nvidia" + tail);
  (*gpu.mutable_distances())["rxe0" + tail] = "PIX" + tail;
  (*hello.mutable_facts())["cpu" + tail] = "x86" + tail;
  (*hello.mutable_stack_versions())["kernel" + tail] = "6.1" + tail;
  (*hello.mutable_stack_settings())["mtu" + tail] = "4096" + tail;
  KernelInfo kernel;
  kernel.set_name("fake.lat");
  kernel.set_revision(1);
  kernel.set_summary("latency" + tail);
  kernel.set_min_ranks(2);
  kernel.set_max_ranks(2);
  kernel.set_endpoint_kind("nic");
  kernel.add_metrics(arguments.text("metric", "latency_ns"));
  if (arguments.has("synthetic")) (*hello.mutable_facts())["synthetic"] = "true";
  if (const std::string word = arguments.text("changes"); !word.empty()) {
    constexpr int kTexts = 8;
    nic.set_firmware(word);
    for (int i = 0; i < kTexts; ++i) {
      const std::string text = word + std::string(3'000, static_cast<char>('a' + i));
      (*hello.mutable_facts())["k" + std::to_string(i)] = text;
      (*hello.mutable_stack_settings())["s" + std::to_string(i)] = text;
    }
  }
  const auto bytes = static_cast<std::size_t>(arguments.number("bytes", 0));
  std::string filler;
  while (filler.size() < bytes) filler += hostile ? hostile_text() : std::string(1'024, 'x');
  const std::string where = bytes > 0 ? arguments.text("where", "name") : "";
  if (where == "name") hello.set_name(filler);
  if (where == "version") hello.set_version(filler);
  if (where == "facts") (*hello.mutable_facts())["filler"] = filler;
  if (where == "kernels") kernel.set_summary(filler);
  hello.add_kernels(kernel.SerializeAsString());
  return message;
}

}  // namespace railgauge::attacker
