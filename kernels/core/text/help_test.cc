#include "kernels/core/text/help.h"

#include <gtest/gtest.h>

namespace railgauge {
namespace {

TEST(FoldedHelp, PutsTheRestOfAnOptionBelowItsDescription) {
  EXPECT_EQ(folded_help("  --restore TEXT              put this backup in the database's place and "
                        "end; the old file is kept\n"),
            "  --restore TEXT              put this backup in the database's place and end;\n"
            "                              the old file is kept\n");
}

TEST(FoldedHelp, CutsBetweenAnOptionAndItsVariable) {
  EXPECT_EQ(folded_help("  --busy-socket TEXT=/var/lib/kubelet/pod-resources/kubelet.sock "
                        "(Env:RAILGAUGE_BUSY_SOCKET)\n"
                        "                              the socket"),
            "  --busy-socket TEXT=/var/lib/kubelet/pod-resources/kubelet.sock\n"
            "                              (Env:RAILGAUGE_BUSY_SOCKET)\n"
            "                              the socket");
}

TEST(FoldedHelp, PutsTheRestOfAParagraphIntoTheFirstColumn) {
  EXPECT_EQ(folded_help("In place of KERNEL another tool's name measures what it measures, as "
                        "nvbandwidth and gdrcopy_copybw."),
            "In place of KERNEL another tool's name measures what it measures, as nvbandwidth\n"
            "and gdrcopy_copybw.");
}

TEST(FoldedHelp, LeavesLinesThatFitAndWordsThatCannotBeCut) {
  const std::string long_word(kHelpColumns + 1, 'x');
  const std::string help = std::string(kHelpColumns, 'y') + "\n\n  " + long_word + "\n";
  EXPECT_EQ(folded_help(help), help);
}

}  // namespace
}  // namespace railgauge
