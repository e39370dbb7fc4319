// Answers of the kernel as bytes. Synthetic.
#include "agent/inventory/sources/dcb.h"

#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <vector>

#include <gmock/gmock.h>

namespace railgauge::agent {
namespace {
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::Not;
using Bytes = std::vector<std::uint8_t>;

template <class Header>
Bytes with_head(const Header& head, const Bytes& rest) {
  Bytes bytes(sizeof head);
  std::memcpy(bytes.data(), &head, sizeof head);
  bytes.insert(bytes.end(), rest.begin(), rest.end());
  bytes.resize((bytes.size() + 3) / 4 * 4);
  return bytes;
}
Bytes attribute(std::uint16_t type, const Bytes& value) {
  return with_head(nlattr{.nla_len = static_cast<std::uint16_t>(sizeof(nlattr) + value.size()),
                          .nla_type = type},
                   value);
}
Bytes operator+(Bytes left, const Bytes& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}
Bytes message(std::uint16_t type, const Bytes& body) {
  nlmsghdr head{};
  head.nlmsg_len = static_cast<std::uint32_t>(sizeof head + body.size());
  head.nlmsg_type = type;
  return with_head(head, body);
}
// An entry of the table: what is looked at, the priority that it gets, the mark.
Bytes app(std::uint8_t selector, std::uint8_t priority = 3, std::uint16_t mark = 26) {
  return attribute(DCB_ATTR_IEEE_APP, with_head(dcb_app{selector, priority, mark}, {}));
}
Bytes answer(std::uint8_t enabled, const Bytes& table) {
  ieee_pfc pfc{};
  pfc.pfc_cap = 8;
  pfc.pfc_en = enabled;
  const Bytes ieee = attribute(DCB_ATTR_IEEE_ETS, Bytes(60, 0xff)) +
                     attribute(DCB_ATTR_IEEE_PFC, with_head(pfc, {})) +
                     attribute(DCB_ATTR_IEEE_APP_TABLE | NLA_F_NESTED, table);
  const dcbmsg head{.dcb_family = 0, .cmd = DCB_CMD_IEEE_GET, .dcb_pad = 0};
  return message(RTM_GETDCB, with_head(head, attribute(DCB_ATTR_IFNAME, {'e', 'n', 's', '1', 0}) +
                                                 attribute(DCB_ATTR_IEEE | NLA_F_NESTED, ieee)));
}

TEST(Dcb, TellsThePrioritiesWithFlowControlAndWhatChoosesThem) {
  Facts facts = dcb_facts_of(answer(0b1000, app(IEEE_8021QAZ_APP_SEL_DSCP)));
  EXPECT_TRUE(facts["dcb/pfc"].is("3"));
  EXPECT_TRUE(facts["dcb/trust"].is("dscp"));
  facts = dcb_facts_of(answer(0b10001, app(IEEE_8021QAZ_APP_SEL_ETHERTYPE)));
  EXPECT_TRUE(facts["dcb/pfc"].is("0 4"));
  EXPECT_TRUE(facts["dcb/trust"].is("pcp"));
  facts = dcb_facts_of(answer(0, {}));
  EXPECT_TRUE(facts["dcb/pfc"].is(""));
  EXPECT_TRUE(facts["dcb/trust"].is("pcp"));
}

TEST(Dcb, TellsTheMarksWhosePriorityIsNotTheirUpperBits) {
  constexpr std::uint8_t kDscp = IEEE_8021QAZ_APP_SEL_DSCP;
  Facts facts = dcb_facts_of(answer(8, app(kDscp) + app(kDscp, 3, 46) + app(kDscp, 0, 63)));
  EXPECT_TRUE(facts["dcb/dscp_map"].is("46:3 63:0")) << facts["dcb/dscp_map"].value;
  facts = dcb_facts_of(answer(8, app(kDscp)));
  EXPECT_TRUE(facts["dcb/dscp_map"].is("")) << facts["dcb/dscp_map"].value;
  facts = dcb_facts_of(answer(8, app(kDscp, 9, 46) + app(kDscp, 3, 64)));  // there are none such
  EXPECT_TRUE(facts["dcb/trust"].is("pcp"));
  EXPECT_THAT(facts, Not(Contains(Key("dcb/dscp_map"))));
}

TEST(Dcb, ADriverWithoutItTellsNothingAndARefusalIsUnknown) {
  const auto refused = [](int error) {
    nlmsgerr body{};
    body.error = -error;
    return dcb_facts_of(message(NLMSG_ERROR, with_head(body, {})));
  };
  EXPECT_THAT(refused(EOPNOTSUPP), IsEmpty());
  Facts facts = refused(EPERM);
  EXPECT_EQ(facts["dcb/pfc"].state, FactState::kUnknown);
  EXPECT_THAT(facts["dcb/trust"].reason, HasSubstr("Operation not permitted"));
  EXPECT_THAT(dcb_facts_of({}), IsEmpty());
}

TEST(Dcb, AnyBytesAreAnswered) {
  std::mt19937 random(7);
  const Bytes whole = answer(0xff, app(IEEE_8021QAZ_APP_SEL_DSCP));
  for (int round = 0; round < 50'000; ++round) {
    Bytes bytes = whole;
    bytes.resize(random() % (whole.size() + 1));
    for (int edits = round % 5; edits > 0 && !bytes.empty(); --edits)
      bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
    for (const auto& [name, fact] : dcb_facts_of(bytes)) ASSERT_LT(fact.value.size(), 400U) << name;
  }
}

TEST(Dcb, ThisMachinesLoopbackHasNone) { EXPECT_THAT(read_dcb("lo"), IsEmpty()); }

}  // namespace
}  // namespace railgauge::agent
