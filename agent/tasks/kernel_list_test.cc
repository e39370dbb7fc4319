#include "agent/tasks/kernel_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::agent {
namespace {
using testing::HasSubstr;

TEST(KernelList, IsReadFromARealRunner) {
  const auto list = list_kernels(SCRIPTED_RUNNER, 10);
  ASSERT_TRUE(list) << list.error().message;
  ASSERT_EQ(list->kernels_size(), 1);
  EXPECT_EQ(list->kernels(0).name(), "test.scripted");
  EXPECT_EQ(list->kernels(0).parameters(0).name(), "script");
}

TEST(KernelList, AKeyOfANewerRunnerDoesNoHarm) {
  const auto list = parse_kernel_list(R"({"schema_version":2,"kernels":[],"colour":"red"})");
  ASSERT_TRUE(list);
  EXPECT_EQ(list->schema_version(), 2u);
}

// Its kernels are read one by one: braces and quotes in their texts, keys of other objects.
TEST(KernelList, ItsKernelsAreThoseOfTheDocument) {
  const auto list = parse_kernel_list(R"({
    "about": {"kernels": [{"name": "no.kernel"}], "text": "a \"kernels\": [{"},
    "kernels": [
      {"name": "one", "summary": "of } and ] and \"{\\", "parameters": [{"name": "size"}]},
      {"name": "two", "metrics": ["a", "b"]}
    ],
    "schema_version": 3})");
  ASSERT_TRUE(list) << list.error().message;
  ASSERT_EQ(list->kernels_size(), 2);
  EXPECT_EQ(list->kernels(0).name(), "one");
  EXPECT_EQ(list->kernels(0).summary(), "of } and ] and \"{\\");
  EXPECT_EQ(list->kernels(0).parameters(0).name(), "size");
  EXPECT_EQ(list->kernels(1).metrics_size(), 2);
  EXPECT_EQ(list->schema_version(), 3u);
}

TEST(KernelList, WhatIsNoListIsAnError) {
  for (const char* text :
       {"kernels: many", "", R"({"kernels":[{"name":"a"})", R"({"kernels":[{"name":}]})",
        R"({"kernels":[{"name":"a}]})", R"({"kernels":[]}})"})
    EXPECT_FALSE(parse_kernel_list(text)) << text;
}

TEST(KernelList, ARunnerThatFailsIsQuoted) {
  const auto list = list_kernels("/bin/false", 10);
  ASSERT_FALSE(list);
  EXPECT_THAT(list.error().message, HasSubstr("/bin/false --list: exited with code 1"));
}

TEST(KernelList, ARunnerThatIsNotThereIsNotFound) {
  const auto list = list_kernels("/nonexistent/railgauge-runner", 10);
  ASSERT_FALSE(list);
  EXPECT_EQ(list.error().code, Code::kNotFound);
}

}  // namespace
}  // namespace railgauge::agent
