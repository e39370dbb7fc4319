#include "controller/fleet/hello_check.h"

#include <functional>
#include <limits>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/core/text/labels.h"

namespace railgauge::fleet {

using api::kMaxGpus;
using api::kMaxKernels;
using api::kMaxNics;
using api::kMaxTextBytes;

namespace {

using testing::HasSubstr;
using testing::Not;

api::Hello sound_hello() {
  api::Hello hello;
  hello.set_name("n1");
  hello.set_node_id("id-n1");
  hello.set_incarnation("first");
  hello.set_version("1.0");
  return hello;
}

void add(const KernelInfo& kernel, api::Hello& hello) {
  hello.add_kernels(kernel.SerializeAsString());
}

std::string fault(const api::Hello& hello) {
  const auto sound = check_bounds(hello);
  return sound ? "" : sound.error().message;
}

TEST(HelloCheck, TheLargestNodeIsWelcome) {
  api::Hello hello = sound_hello();
  for (int i = 0; i < kMaxNics; ++i) hello.add_nics()->set_device(fmt::format("mlx5_{}", i));
  for (int i = 0; i < kMaxGpus; ++i) {
    api::Gpu& gpu = *hello.add_gpus();
    gpu.set_name(fmt::format("gpu{}", i));
    for (int nic = 0; nic < 32; ++nic)
      (*gpu.mutable_distances())[fmt::format("mlx5_{}", nic)] = "SYS";
  }
  for (int i = 0; i < kMaxKernels; ++i) {
    KernelInfo kernel;
    kernel.set_name(fmt::format("verbs.k{}", i));
    add(kernel, hello);
  }
  (*hello.mutable_facts())["cpu"] = std::string(kMaxTextBytes, 'x');
  EXPECT_EQ(fault(hello), "");
}

TEST(HelloCheck, EachBoundIsNamedWithWhatIsAllowed) {
  api::Hello hello = sound_hello();
  for (int i = 0; i <= kMaxNics; ++i) hello.add_nics();
  EXPECT_EQ(fault(hello), "its Hello has 257 NIC ports, at most 256 are allowed");
  hello = sound_hello();
  for (int i = 0; i <= kMaxGpus; ++i) hello.add_gpus();
  EXPECT_EQ(fault(hello), "its Hello has 65 GPUs, at most 64 are allowed");
  hello = sound_hello();
  for (int i = 0; i <= kMaxKernels; ++i) hello.add_kernels();
  EXPECT_EQ(fault(hello), "its Hello has 513 kernels, at most 512 are allowed");
  hello = sound_hello();
  for (int i = 0; i < 20; ++i) {
    (*hello.mutable_facts())[fmt::format("f{}", i)] = std::string(2'000, 'x');
    (*hello.mutable_stack_versions())[fmt::format("s{}", i)] = std::string(2'000, 'x');
  }
  EXPECT_THAT(fault(hello), HasSubstr("bytes of facts, at most 65536 are allowed"));
  hello = sound_hello();
  for (int i = 0; i < 1'025; ++i) hello.add_running();
  EXPECT_EQ(fault(hello), "its Hello has 1025 running tasks, at most 1024 are allowed");
  hello = sound_hello();
  for (int i = 0; i < 300; ++i) {
    api::TaskRef& task = *hello.add_running();
    task.set_run_id(std::string(4'000, 'x'));
  }
  EXPECT_THAT(fault(hello), HasSubstr("bytes, at most 1048576 are allowed"));
}

// Readers of a declaration find the first of a name, or the last.
TEST(HelloCheck, AKernelHasEachNameOnce) {
  const auto with_kernel = [](const std::function<void(KernelInfo&)>& change) {
    api::Hello hello = sound_hello();
    KernelInfo kernel;
    kernel.set_name("verbs.write_bw");
    kernel.set_endpoint_kind("nic");
    kernel.add_metrics("bandwidth_bytes_per_second");
    for (const char* name : {"sizes", "depth"}) {
      ParameterInfo& parameter = *kernel.add_parameters();
      parameter.set_name(name);
      parameter.set_type("text");
    }
    change(kernel);
    add(kernel, hello);
    return fault(hello);
  };
  EXPECT_EQ(with_kernel([](KernelInfo&) {}), "");
  EXPECT_THAT(
      with_kernel([](KernelInfo& kernel) { kernel.mutable_parameters(1)->set_name("sizes"); }),
      HasSubstr("with parameter \"sizes\" twice"));
  EXPECT_THAT(with_kernel([](KernelInfo& kernel) {
                for (int i = 0; i < 257; ++i) kernel.add_metrics(fmt::format("m{}", i));
              }),
              HasSubstr("with 258 metrics, at most 256 are allowed"));
  EXPECT_THAT(with_kernel([](KernelInfo& kernel) {
                for (int i = 0; i < 257; ++i) kernel.add_parameters();
              }),
              HasSubstr("with 259 parameters, at most 256 are allowed"));
  for (const char* bad : {"", "a b", "a.", "a\"b"}) {
    EXPECT_THAT(with_kernel([&](KernelInfo& kernel) { kernel.set_name(bad); }), HasSubstr("names"));
    EXPECT_THAT(with_kernel([&](KernelInfo& kernel) { kernel.set_metrics(0, bad); }),
                HasSubstr("names"));
    EXPECT_THAT(
        with_kernel([&](KernelInfo& kernel) { kernel.mutable_parameters(0)->set_name(bad); }),
        HasSubstr("names"));
  }
  api::Hello twice = sound_hello();
  KernelInfo kernel;
  kernel.set_name("a");
  for (int i = 0; i < 2; ++i) add(kernel, twice);
  EXPECT_THAT(fault(twice), HasSubstr("kernel \"a\" twice"));
}

TEST(HelloCheck, AKernelThatCannotBeReadIsNamedByItsNumber) {
  api::Hello hello = sound_hello();
  KernelInfo kernel;
  kernel.set_name("verbs.write_bw");
  add(kernel, hello);
  hello.add_kernels(kernel.SerializeAsString().substr(0, 5));
  EXPECT_EQ(fault(hello), "node n1: kernel 2 of its Hello cannot be read");
}

TEST(HelloCheck, TheKernelsAreThoseThatWereDeclared) {
  api::Hello hello = sound_hello();
  for (const char* name : {"verbs.write_bw", "bar.write_bw"}) {
    KernelInfo kernel;
    kernel.set_name(name);
    add(kernel, hello);
  }
  const auto kernels = check_bounds(hello);
  ASSERT_TRUE(kernels.has_value());
  ASSERT_EQ(kernels->kernels_size(), 2);
  EXPECT_EQ(kernels->kernels(1).name(), "bar.write_bw");
}

// A rate enters sums that a run stores.
TEST(HelloCheck, ANumberIsFinite) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), 1e300, -1.0,
                           std::numeric_limits<double>::infinity()}) {
    api::Hello hello = sound_hello();
    api::Nic& nic = *hello.add_nics();
    nic.set_device("mlx5_0");
    nic.set_rate_bits_per_second(bad);
    EXPECT_NE(fault(hello), "") << bad;
    nic.set_rate_bits_per_second(8e11);
    EXPECT_EQ(fault(hello), "");
    KernelInfo kernel;
    kernel.set_name("a");
    ParameterInfo& parameter = *kernel.add_parameters();
    parameter.set_name("b");
    parameter.set_type("number");
    parameter.set_minimum(bad);
    add(kernel, hello);
    EXPECT_EQ(fault(hello).empty(), bad == -1) << bad;
  }
}

TEST(HelloCheck, LabelsAreFewAndSuchThatASelectorCanName) {
  api::Hello hello = sound_hello();
  (*hello.mutable_labels())["rack"] = "r7";
  EXPECT_EQ(fault(hello), "");
  EXPECT_EQ(label_text(node_row(hello).labels), "rack=r7");
  (*hello.mutable_labels())["pod"] = "a,b";
  EXPECT_EQ(fault(hello), "node n1: its Hello has a label that is none");
  for (std::size_t i = 0; i < kMaxLabels; ++i)
    (*hello.mutable_labels())[fmt::format("k{}", i)] = "v";
  EXPECT_EQ(fault(hello), "its Hello has 130 labels, at most 128 are allowed");
}

TEST(HelloCheck, ALongTextIsFoundWhereverItIs) {
  const std::string text(kMaxTextBytes + 1, 'x');
  const std::string words = "its Hello has 4097 bytes in one text, at most 4096 are allowed";
  const auto with = [&](const auto& change) {
    api::Hello hello = sound_hello();
    change(hello);
    return fault(hello);
  };
  EXPECT_EQ(with([&](api::Hello& h) { h.set_version(text); }), words);
  EXPECT_EQ(with([&](api::Hello& h) { h.set_name(text); }), words);
  EXPECT_EQ(with([&](api::Hello& h) { (*h.mutable_facts())[text] = "1"; }), words);
  EXPECT_EQ(with([&](api::Hello& h) { (*h.mutable_stack_settings())["a"] = text; }), words);
  EXPECT_EQ(with([&](api::Hello& h) { h.add_nics()->set_firmware(text); }), words);
  EXPECT_EQ(with([&](api::Hello& h) { (*h.add_gpus()->mutable_distances())[text] = "PIX"; }),
            words);
  KernelInfo kernel;
  kernel.add_parameters()->add_choices(text);
  EXPECT_EQ(with([&](api::Hello& h) { add(kernel, h); }), words);
  EXPECT_EQ(with([&](api::Hello& h) { h.mutable_busy()->add_reasons()->set_text(text); }), words);
}

TEST(HelloCheck, AFaultHoldsNothingThatWasNotChecked) {
  for (const std::string& name : {std::string("n1\n2026-01-01 forged"), std::string("\x1b[2J"),
                                  std::string("n1/rxe0:1"), std::string(254, 'n'), std::string()}) {
    api::Hello hello = sound_hello();
    hello.set_name(name);
    EXPECT_EQ(fault(hello), "a node's name is 1 to 253 letters, digits, '.', '-' and '_'");
  }
  for (const std::string& id :
       {std::string("a b"), std::string(65, 'x'), std::string(), std::string("\x1b")}) {
    api::Hello hello = sound_hello();
    hello.set_node_id(id);
    EXPECT_EQ(fault(hello), "node n1: node id and incarnation are 1 to 64 visible characters");
    hello = sound_hello();
    hello.set_incarnation(id);
    EXPECT_NE(fault(hello), "");
  }
}

TEST(HelloCheck, AControlCharacterIsFoundWhereverItIs) {
  const auto with = [&](const auto& change) {
    api::Hello hello = sound_hello();
    change(hello);
    return fault(hello);
  };
  const auto words = [](const std::string& field) {
    return "node n1: its Hello has a control character in a text of " + field;
  };
  for (const std::string& text : {std::string("a\x1b[2J"), std::string("a\0b", 3),
                                  std::string("a\nforged"), std::string("\r"), std::string("\x7f"),
                                  std::string("\xC2\x9B"
                                              "31m")}) {
    EXPECT_EQ(with([&](api::Hello& h) { h.set_version(text); }), words("version"));
    EXPECT_EQ(with([&](api::Hello& h) { (*h.mutable_facts())[text] = "1"; }), words("facts"));
    EXPECT_EQ(with([&](api::Hello& h) { (*h.mutable_stack_versions())["a"] = text; }),
              words("stack_versions"));
    KernelInfo kernel;
    kernel.add_metrics(text);
    EXPECT_EQ(with([&](api::Hello& h) { add(kernel, h); }), words("kernels"));
    EXPECT_EQ(with([&](api::Hello& h) { h.add_running()->set_task_id(text); }), words("running"));
    EXPECT_EQ(with([&](api::Hello& h) {
                h.add_nics()->set_device("rxe0");
                h.mutable_nics(0)->set_firmware(text);
              }),
              words("nics"));
  }
  EXPECT_EQ(with([](api::Hello& h) { (*h.mutable_facts())["tcp_rmem"] = "4096\t131072 \xC3\xA9"; }),
            "");
  EXPECT_EQ(with([](api::Hello& h) { h.mutable_busy()->add_reasons()->set_text("two\nlines"); }),
            "")
      << "words of a marker file are cleaned";
}

TEST(HelloCheck, TwoDevicesInOneSlotOrOfOneNameAreRefused) {
  const auto nic = [](api::Hello& hello, const std::string& device, std::uint32_t port,
                      const std::string& address, const std::string& netdev = "") {
    api::Nic& added = *hello.add_nics();
    added.set_device(device);
    added.set_port(port);
    added.set_pci_address(address);
    added.set_netdev(netdev);
  };
  api::Hello hello = sound_hello();
  nic(hello, "mlx4_0", 1, "0000:18:00.0");
  nic(hello, "mlx4_0", 2, "0000:18:00.0");
  nic(hello, "rxe0", 1, "", "eth0");
  nic(hello, "rxe1", 1, "");
  nic(hello, "rxe2", 1, "");
  EXPECT_EQ(fault(hello), "") << "two ports of one card";
  const auto with = [&](const auto&... more) {
    api::Hello other = hello;
    nic(other, more...);
    return fault(other);
  };
  const std::string words = "node n1: its Hello has two devices in one slot or of one name: ";
  EXPECT_EQ(with("mlx5_1", 1, "0000:18:00.0"), words + "\"mlx5_1\"");
  EXPECT_EQ(with("siw0", 1, "", "eth0"), words + "\"siw0\"");
  EXPECT_EQ(with("rxe1", 1, "0000:19:00.0"), words + "\"rxe1\"");
  EXPECT_EQ(with("rxe3", 1, "netdev:eth0"), words + "\"rxe3\"") << "the store's word for it";
  EXPECT_EQ(with("rxe3", 0, "host"), words + "\"rxe3\"");
  for (const char* name : {"", "rxe0,n3/rxe0", "a b", "a:1", "a+gpu0", "a\"b"})
    EXPECT_EQ(with(name, 1, "0000:20:00.0"), "node n1: its Hello has a device whose name is none");
  for (int i = 0; i < 2; ++i) {
    hello.add_gpus()->set_name("gpu" + std::to_string(i));
    hello.mutable_gpus(i)->set_pci_address("0000:1b:00.0");
  }
  EXPECT_EQ(fault(hello), words + "\"gpu1\"");
}

TEST(BoundTexts, WhatAnAttachedAgentSaysIsShortAndOneLine) {
  api::AgentMessage message;
  api::Heartbeat& heartbeat = *message.mutable_heartbeat();
  heartbeat.set_busy_task_id(std::string(1'000'000, 'x'));
  heartbeat.set_spool_records(std::numeric_limits<double>::quiet_NaN());
  for (int i = 0; i < 1'000; ++i)
    heartbeat.mutable_busy()->add_reasons()->set_text("a\nb\x1b[31m" + std::string(10'000, 'y'));
  for (int i = 0; i < 100'000; ++i) heartbeat.add_events();
  bound_texts(message);
  EXPECT_EQ(heartbeat.events_size(), 64);
  EXPECT_LE(heartbeat.busy_task_id().size(), 512U);
  EXPECT_EQ(heartbeat.spool_records(), 0);
  EXPECT_LE(heartbeat.busy().reasons_size(), 16);
  EXPECT_LE(message.ByteSizeLong(), 40'000U);
  EXPECT_THAT(heartbeat.busy().reasons(0).text(), Not(HasSubstr("\x1b")));
  EXPECT_THAT(heartbeat.busy().reasons(0).text(), Not(HasSubstr("\n")));
  api::AgentMessage ended;
  ended.mutable_ended()->set_reason(std::string(1'000'000, 'x'));
  bound_texts(ended);
  EXPECT_EQ(ended.ended().reason().size(), kMaxTextBytes);
  api::AgentMessage refusal;
  refusal.mutable_refusal()->set_reason(std::string(1'000'000, 'x'));
  bound_texts(refusal);
  EXPECT_EQ(refusal.refusal().reason().size(), kMaxTextBytes);
}

TEST(BoundTexts, ALineOfEscapesIsAsShortAsAnother) {
  EXPECT_EQ(short_line(std::string(600, '\x1b')).size(), 512U);
  std::string turns;
  for (int i = 0; i < 300; ++i) turns += "\u202e";
  EXPECT_LE(short_line(turns).size(), 512U);
  EXPECT_EQ(short_line("a\nb"), "a\\nb");
}

api::PreflightAnswer sound_answer() {
  api::PreflightAnswer answer;
  answer.set_request_id("p1");
  answer.mutable_report()->add_nodes()->set_node("n1");
  api::PreflightCheck& check = *answer.mutable_report()->add_checks();
  check.set_id("acs");
  check.set_state("fail");
  check.set_observed("on");
  check.add_remedy("setpci ...");
  return answer;
}

TEST(BoundAnswer, ASoundOneStaysAndItsControlCharactersBecomeVisible) {
  api::PreflightAnswer answer = sound_answer();
  const std::string before = answer.SerializeAsString();
  bound_answer(answer);
  EXPECT_EQ(answer.SerializeAsString(), before);
  answer.mutable_report()->mutable_checks(0)->set_observed("a\nforged \x1b[2J");
  answer.mutable_report()->mutable_checks(0)->add_remedy("b\rc");
  answer.mutable_report()->add_pairs()->set_because("\x07");
  bound_answer(answer);
  EXPECT_EQ(answer.report().checks(0).observed(), "a\\nforged \\x1b[2J");
  EXPECT_EQ(answer.report().checks(0).remedy(1), "b\\rc");
  EXPECT_EQ(answer.report().pairs(0).because(), "\\x07");
}

TEST(BoundAnswer, OneBeyondItsBoundsIsTheErrorOfItsNode) {
  const auto error_of = [](const auto& change) {
    api::PreflightAnswer answer = sound_answer();
    change(answer);
    api::AgentMessage message;
    *message.mutable_preflight() = std::move(answer);
    bound_texts(message);
    const api::PreflightReport& report = message.preflight().report();
    EXPECT_LT(message.ByteSizeLong(), 400U);
    EXPECT_EQ(report.checks_size() + report.pairs_size(), 0);
    return report.nodes_size() == 1 ? report.nodes(0).error() : "no error";
  };
  using Answer = api::PreflightAnswer;
  EXPECT_THAT(error_of([](Answer& answer) {
                for (int i = 0; i < kMaxAnswerChecks; ++i) answer.mutable_report()->add_checks();
              }),
              HasSubstr("its answer has 1025 checks, at most 1024 are allowed"));
  EXPECT_THAT(error_of([](Answer& answer) {
                for (int i = 0; i <= kMaxAnswerPairs; ++i) answer.mutable_report()->add_pairs();
              }),
              HasSubstr("1025 GPU and NIC pairs"));
  EXPECT_THAT(error_of([](Answer& answer) { answer.mutable_report()->add_nodes(); }),
              HasSubstr("2 nodes"));
  EXPECT_THAT(
      error_of([](Answer& answer) {
        answer.mutable_report()->mutable_checks(0)->set_why(std::string(kMaxTextBytes + 1, 'x'));
      }),
      HasSubstr("4097 bytes in one text"));
  EXPECT_THAT(
      error_of([](Answer& answer) {
        answer.mutable_report()->mutable_checks(0)->set_why(std::string(kMaxTextBytes, '\x1b'));
      }),
      HasSubstr("16384 bytes in one text"));
  EXPECT_THAT(
      error_of([](Answer& answer) {
        for (int i = 0; i < 300; ++i)
          answer.mutable_report()->mutable_checks(0)->add_remedy(std::string(kMaxTextBytes, 'x'));
      }),
      HasSubstr("bytes, at most 1048576"));
  EXPECT_THAT(error_of([](Answer& answer) { answer.set_request_id(std::string(5'000, 'x')); }),
              HasSubstr("5000 bytes in one text"));
}

TEST(NodeRow, HasTheNodesStackAndEachOfItsDevices) {
  api::Hello hello = sound_hello();
  (*hello.mutable_stack_versions())["linux_kernel"] = "6.1.0";
  (*hello.mutable_stack_settings())["mtu"] = "9000";
  (*hello.mutable_facts())["leaf"] = "l1";
  hello.set_stack_incomplete(true);
  api::Nic& nic = *hello.add_nics();
  nic.set_device("mlx5_0");
  nic.set_port(1);
  nic.set_firmware("28.41");
  api::Gpu& gpu = *hello.add_gpus();
  gpu.set_name("gpu0");
  gpu.set_uuid("GPU-1");
  gpu.set_vbios("96.00");
  gpu.set_model("NVIDIA H200");
  const store::NodeRow row = node_row(hello);
  EXPECT_EQ(row.node_id, "id-n1");
  EXPECT_EQ(row.name, "n1");
  EXPECT_EQ(row.version, "1.0");
  EXPECT_EQ(row.address + row.certificate, "") << "the caller's";
  EXPECT_EQ(row.facts, (store::TextMap{{"linux_kernel", "6.1.0"}}));
  EXPECT_EQ(row.settings, (store::TextMap{{"mtu", "9000"}}));
  EXPECT_EQ(row.described, (store::TextMap{{"leaf", "l1"}}));
  EXPECT_TRUE(row.stack_incomplete);
  ASSERT_THAT(row.endpoints, testing::SizeIs(2));
  EXPECT_EQ(row.endpoints[0].kind, "nic");
  EXPECT_EQ(row.endpoints[0].device, "mlx5_0");
  EXPECT_EQ(row.endpoints[0].port, 1U);
  EXPECT_EQ(row.endpoints[0].firmware, "28.41");
  EXPECT_EQ(row.endpoints[1].kind, "gpu");
  EXPECT_EQ(row.endpoints[1].guid, "GPU-1");
  EXPECT_EQ(row.endpoints[1].firmware, "96.00");
  EXPECT_EQ(row.endpoints[1].model, "NVIDIA H200");
}

TEST(NodeRow, AnOldAgentsFactsAreItsStack) {
  api::Hello hello = sound_hello();
  (*hello.mutable_facts())["linux_kernel"] = "5.15.0";
  const store::NodeRow row = node_row(hello);
  EXPECT_EQ(row.facts, (store::TextMap{{"linux_kernel", "5.15.0"}}));
  EXPECT_TRUE(row.described.empty());
}

}  // namespace
}  // namespace railgauge::fleet
