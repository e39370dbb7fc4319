#include "kernels/core/text/printable.h"

#include <gtest/gtest.h>

#include "kernels/core/base/record.pb.h"

namespace railgauge {
namespace {

TEST(MakePrintable, ReachesTextsOfListsMapsAndNestedMessages) {
  KernelList list;
  auto* kernel = list.add_kernels();
  kernel->set_name("verbs\x1b[2J\nnext");
  kernel->set_revision(7);
  kernel->add_metrics("plain");
  kernel->add_metrics("ns\u202e");
  make_printable(list);
  EXPECT_EQ(list.kernels(0).name(), "verbs\\x1b[2J\nnext");
  EXPECT_EQ(list.kernels(0).metrics(0), "plain");
  EXPECT_EQ(list.kernels(0).metrics(1), "ns\\u202e");
  EXPECT_EQ(list.kernels(0).revision(), 7U);
  Record record;
  (*record.mutable_started()->mutable_facts())["gid\u0085"] = "\r\xc3\xa9";
  make_printable(record);
  ASSERT_EQ(record.started().facts_size(), 1);
  EXPECT_EQ(record.started().facts().at("gid\\u0085"), "\\r\xc3\xa9");
}

}  // namespace
}  // namespace railgauge
