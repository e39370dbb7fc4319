#include "controller/trust/revocation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/trust/testing/authority_folder.h"

namespace railgauge::trust {
namespace {

using testing::HasSubstr;

RevocationList list_of(const AuthorityFolder& folder, double now = unix_now()) {
  auto list = parse_revocations(folder.read("crl.pem"), folder.read("ca.crt"), now);
  EXPECT_TRUE(list) << list.error().message;
  return list.value_or(RevocationList{});
}

TEST(Revocation, NamesWhatItsAuthorityTookBackAndNothingElse) {
  const AuthorityFolder folder;
  folder.issue("agent", "n1");
  folder.issue("agent", "n2");
  ASSERT_TRUE(revoke(folder.path(), "n1", kCrlDays, unix_now()));
  const RevocationList list = list_of(folder);
  EXPECT_TRUE(list.has(folder.certificate("n1").id));
  EXPECT_FALSE(list.has(folder.certificate("n2").id));
  // The same serial number of another authority is another certificate.
  EXPECT_FALSE(list.has({.issuer = "cn=other", .serial = folder.certificate("n1").id.serial}));
}

TEST(Revocation, OfAnotherAuthorityOrWithAnotherSignatureIsRefused) {
  const AuthorityFolder folder;
  const AuthorityFolder other;  // of the same name, made on the same day
  const auto foreign = parse_revocations(other.read("crl.pem"), folder.read("ca.crt"), unix_now());
  ASSERT_FALSE(foreign);
  EXPECT_THAT(foreign.error().message, HasSubstr("not signed by that authority"));
  folder.issue("agent", "n1");
  EXPECT_FALSE(parse_revocations(folder.read("crl.pem"), folder.read("n1.crt"), unix_now()));
}

TEST(Revocation, HalfAFileIsRefused) {
  const AuthorityFolder folder;
  const std::string text = folder.read("crl.pem");
  EXPECT_FALSE(parse_revocations("", folder.read("ca.crt"), unix_now()));
  for (std::size_t size = 1; size < text.size() - 1; size += 17)
    EXPECT_FALSE(parse_revocations(text.substr(0, size), folder.read("ca.crt"), unix_now()));
  EXPECT_FALSE(
      parse_revocations(text + text.substr(0, text.size() / 2), folder.read("ca.crt"), unix_now()));
  EXPECT_TRUE(parse_revocations(text + text, folder.read("ca.crt"), unix_now()));
}

TEST(Revocation, OfOpensslIsReadAsWell) {
  const AuthorityFolder folder;
  folder.issue("agent", "n1");
  ASSERT_TRUE(folder.shell(
      "printf '[ca]\\ndefault_ca=d\\n[d]\\ndatabase=index.txt\\ndefault_md=sha256\\n"
      "default_crl_days=9\\n' > conf; openssl ca -config conf -cert ca.crt -keyfile ca.key "
      "-revoke n1.crt && openssl ca -config conf -cert ca.crt -keyfile ca.key -gencrl -out "
      "crl.pem"))
      << folder.read("log");
  EXPECT_TRUE(list_of(folder).has(folder.certificate("n1").id));
}

TEST(Revocation, AnExpiredListStaysWhatItIs) {
  const AuthorityFolder folder;
  const double later = unix_now() + (kCrlDays + 1) * 86'400;
  const RevocationList list = list_of(folder, later);
  EXPECT_TRUE(list.is_expired(later));
  EXPECT_FALSE(list.is_expired(unix_now()));
}

TEST(Revocation, AListIsNotReplacedByAnOlderOrAnExpiredOne) {
  const AuthorityFolder folder;
  folder.issue("agent", "n1");
  const double now = unix_now();
  const RevocationList first = list_of(folder);
  ASSERT_TRUE(revoke(folder.path(), "n1", kCrlDays, now + 5));
  const RevocationList second = list_of(folder, now + 10);
  EXPECT_TRUE(replaced(first, second, now + 10));
  const auto back = replaced(second, first, now + 10);
  ASSERT_FALSE(back);
  EXPECT_THAT(back.error().message, HasSubstr("older than the one in use"));
  const auto late = replaced(first, second, now + 40 * 86'400.0);
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().message, HasSubstr("the list ended at"));
}

TEST(Revocation, WhatAnAuthorityTookBackStaysSoWhenTheAuthorityIsGone) {
  const AuthorityFolder folder;
  folder.issue("agent", "n1");
  ASSERT_TRUE(revoke(folder.path(), "n1", kCrlDays, unix_now()));
  const RevocationList held = list_of(folder);
  RevocationList next;
  next.authorities = {"cn=new"};
  next.issued_unix = {{"cn=new", unix_now()}};
  const auto merged = replaced(held, next, unix_now());
  ASSERT_TRUE(merged);
  EXPECT_TRUE(merged->has(folder.certificate("n1").id));
  next.authorities.insert(held.issued_unix.begin()->first);
  EXPECT_FALSE(replaced(held, next, unix_now()));  // its list is missing
}

}  // namespace
}  // namespace railgauge::trust
