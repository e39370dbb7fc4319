#include "controller/trust/enrolment_token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::trust {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(EnrolmentTokenTest, ItsTextReadsAsItself) {
  const EnrolmentToken token = make_enrolment_token(std::string(64, 'a'));
  EXPECT_EQ(parse_enrolment_token(text_of(token)).value(), token);
  EXPECT_EQ(parse_enrolment_token("  " + text_of(token) + "\r\n").value(), token);
  EXPECT_NE(make_enrolment_token(std::string(64, 'a')).secret, token.secret);
}

TEST(EnrolmentTokenTest, AnyOtherTextIsRefusedAndNotShown) {
  const std::string good = text_of(make_enrolment_token(std::string(64, 'a')));
  std::vector<std::string> wrong{"", "\n", "rgt", "rgt___", good + "a", good + "_", "x" + good};
  for (std::size_t size = 0; size < good.size(); ++size) wrong.push_back(good.substr(0, size));
  for (std::size_t at = 4; at < good.size(); ++at) {
    wrong.push_back(good);
    wrong.back()[at] = 'G';
  }
  for (const std::string& text : wrong) {
    const auto read = parse_enrolment_token(text);
    ASSERT_FALSE(read) << text;
    EXPECT_THAT(read.error().message, Not(HasSubstr(good.substr(13, 32))));
  }
}

TEST(SecretHash, DependsOnBoth) {
  EXPECT_NE(secret_hash("a", "s"), secret_hash("b", "s"));
  EXPECT_NE(secret_hash("a", "s"), secret_hash("a", "t"));
}

}  // namespace
}  // namespace railgauge::trust
