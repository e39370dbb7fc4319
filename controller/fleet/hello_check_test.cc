#include "controller/fleet/hello_check.h"

#include <limits>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::fleet {
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

std::string fault(const api::Hello& hello) {
  const Status sound = check_bounds(hello);
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
  for (int i = 0; i < kMaxKernels; ++i) hello.add_kernels()->set_name(fmt::format("verbs.k{}", i));
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
  for (int i = 0; i < 300; ++i) {
    api::TaskRef& task = *hello.add_running();
    task.set_run_id(std::string(4'000, 'x'));
  }
  EXPECT_THAT(fault(hello), HasSubstr("bytes, at most 1048576 are allowed"));
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
  EXPECT_EQ(with([&](api::Hello& h) { h.add_kernels()->add_parameters()->add_choices(text); }),
            words);
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

TEST(BoundTexts, WhatAnAttachedAgentSaysIsShortAndOneLine) {
  api::AgentMessage message;
  api::Heartbeat& heartbeat = *message.mutable_heartbeat();
  heartbeat.set_busy_task_id(std::string(1'000'000, 'x'));
  heartbeat.set_spool_records(std::numeric_limits<double>::quiet_NaN());
  for (int i = 0; i < 1'000; ++i)
    heartbeat.mutable_busy()->add_reasons()->set_text("a\nb\x1b[31m" + std::string(10'000, 'y'));
  bound_texts(message);
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

}  // namespace
}  // namespace railgauge::fleet
