// An authority's folder, compared with what the openssl command makes of it. Kills are in
// authority_process_test.cc.
#include "controller/trust/authority/authority.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/trust/authority/keys.h"
#include "controller/trust/signing_request.h"
#include "controller/trust/testing/authority_folder.h"

namespace railgauge::trust {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

mode_t mode_of(const std::string& path) {
  struct stat file {};
  return ::stat(path.c_str(), &file) == 0 ? file.st_mode & 0777U : 0;
}

std::string state_of(const AuthorityFolder& folder, const std::string& name,
                     double now = unix_now()) {
  const auto all = show(folder.path(), now);
  EXPECT_TRUE(all) << all.error().message;
  std::string states;
  for (const ShownCertificate& one : all.value_or(std::vector<ShownCertificate>{}))
    if (one.name == name) states += (states.empty() ? "" : " ") + one.state;
  return states;
}

TEST(Authority, IsMadeOnceWithAnEmptyListAndASecretKey) {
  const AuthorityFolder folder;
  EXPECT_EQ(mode_of(folder.path("ca.key")), 0600U);
  EXPECT_EQ(mode_of(folder.path("ca.crt")), 0644U);
  const std::string before = folder.read("ca.crt");
  const auto again = init_authority(folder.path(), kAuthorityDays, unix_now());
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Code::kAlreadyExists);
  EXPECT_EQ(folder.read("ca.crt"), before);
  EXPECT_EQ(state_of(folder, "crl.pem"), "valid");
  EXPECT_TRUE(
      folder.shell("openssl verify -x509_strict -CAfile ca.crt ca.crt && "
                   "openssl crl -in crl.pem -CAfile ca.crt -noout -verify"))
      << folder.read("log");
}

TEST(Authority, IssuesWhatOpensslVerifies) {
  const AuthorityFolder folder;
  folder.issue("controller", "controller", {"ctl.example", "10.0.2.2", "::1"});
  folder.issue("agent", "n1");
  folder.issue("operator", "ann");
  folder.issue("viewer", "bob");
  for (const char* name : {"n1", "ann", "bob"}) {
    EXPECT_TRUE(folder.shell(fmt::format(
        "openssl verify -x509_strict -purpose sslclient -crl_check -CRLfile crl.pem "
        "-CAfile ca.crt {0}.crt && ! openssl verify -purpose sslserver -CAfile ca.crt {0}.crt",
        name)))
        << folder.read("log");
    EXPECT_EQ(mode_of(folder.path(std::string(name) + ".key")), 0600U);
  }
  for (const char* check :
       {"-verify_hostname ctl.example", "-verify_ip 10.0.2.2", "-verify_ip ::1"})
    EXPECT_TRUE(folder.shell(fmt::format(
        "openssl verify -x509_strict -purpose sslserver {} -CAfile ca.crt controller.crt", check)))
        << check << folder.read("log");
  EXPECT_THAT(folder.certificate("n1").uris, ElementsAre("railgauge://agent/n1"));
  EXPECT_THAT(folder.certificate("ann").uris, ElementsAre("railgauge://operator/ann"));
  EXPECT_EQ(folder.certificate("n1").subject, "CN=n1,OU=agent,O=railgauge");
  EXPECT_TRUE(folder.shell("openssl x509 -in n1.crt -noout -text | grep -q 'prime256v1'"));
}

TEST(Authority, IssuesNamesThatACommonNameCannotHold) {
  const AuthorityFolder folder;
  const std::string name(200, 'n');
  folder.issue("agent", name);
  EXPECT_EQ(folder.certificate(name).subject, "OU=agent,O=railgauge");
  EXPECT_THAT(folder.certificate(name).uris, ElementsAre("railgauge://agent/" + name));
  EXPECT_EQ(state_of(folder, name), "valid");
  EXPECT_TRUE(revoke(folder.path(), name, kCrlDays, unix_now()));
  EXPECT_EQ(state_of(folder, name), "revoked");
}

TEST(Authority, OverwritesNothingAndGrowsASet) {
  const AuthorityFolder folder;
  folder.issue("agent", "n1");
  const std::string before = folder.read("n1.crt") + folder.read("n1.key");
  EXPECT_EQ(issue(folder.path(), {.role = "agent", .names = {"n1"}}, unix_now()).error().code,
            Code::kAlreadyExists);
  const auto set = issue(folder.path(), {.role = "agent", .names = {"n1", "n2", "n3"}}, unix_now());
  ASSERT_TRUE(set);
  EXPECT_EQ(std::ranges::count(*set, true, &Issued::kept), 1);
  EXPECT_EQ(folder.read("n1.crt") + folder.read("n1.key"), before);
  EXPECT_EQ(state_of(folder, "n3"), "valid");
  std::set<std::string> serials;
  for (const char* name : {"n1", "n2", "n3"}) serials.insert(folder.certificate(name).id.serial);
  EXPECT_EQ(serials.size(), 3U);
}

TEST(Authority, RefusesHostileNamesHostsAndDays) {
  const AuthorityFolder folder;
  const auto code_of = [&](const IssueOrder& order) {
    const auto issued = issue(folder.path(), order, unix_now());
    return issued ? Code{} : issued.error().code;
  };
  for (const char* name : {"", "..", "../n1", "a/b", ".n1", "n 1", "n1\n", "ca", "controller",
                           "n1,CA:TRUE", "n1/OU=operator"})
    EXPECT_EQ(code_of({.role = "agent", .names = {name}}), Code::kInvalidArgument) << name;
  EXPECT_EQ(code_of({.role = "root", .names = {"n1"}}), Code::kInvalidArgument);
  for (const char* host : {"bad host", "a,DNS:b", "10.0.0", "DNS:10.0.0.1/8", "IP:host", ""})
    EXPECT_EQ(code_of({.role = "controller", .names = {"c"}, .hosts = {host}}),
              Code::kInvalidArgument)
        << host;
  for (const double days : {0.0, -1.0, 1e9})
    EXPECT_EQ(code_of({.role = "agent", .names = {"n1"}, .days = days}), Code::kInvalidArgument);
  EXPECT_FALSE(std::filesystem::exists(folder.path("n1.crt")));
}

TEST(Authority, ACertificateEndsWithItsAuthorityAtTheLatest) {
  const AuthorityFolder folder;
  ASSERT_TRUE(issue(folder.path(), {.role = "agent", .names = {"n1"}, .days = 9'000}, unix_now()));
  EXPECT_EQ(folder.certificate("n1").until_unix, folder.certificate("ca").until_unix);
  const auto late = issue(folder.path(), {.role = "agent", .names = {"n2"}},
                          unix_now() + (kAuthorityDays + 1) * 86'400);
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().message, HasSubstr("the authority ended at"));
}

TEST(Authority, RenewsWithTheSameKeyRoleAndHosts) {
  const AuthorityFolder folder;
  folder.issue("controller", "controller", {"ctl.example", "::1"});
  const Certificate old = folder.certificate("controller");
  const std::string key = folder.read("controller.key");
  ASSERT_TRUE(renew(folder.path(), {.names = {"controller"}, .days = 100}, unix_now()));
  const Certificate renewed = folder.certificate("controller");
  EXPECT_NE(renewed.id.serial, old.id.serial);
  EXPECT_EQ(renewed.hosts, old.hosts);
  EXPECT_EQ(renewed.subject, old.subject);
  EXPECT_LT(renewed.until_unix, old.until_unix);
  EXPECT_EQ(folder.read("controller.key"), key);
  EXPECT_EQ(state_of(folder, "controller"), "valid replaced");
  ASSERT_TRUE(renew(folder.path(), {.names = {"controller"}, .new_key = true}, unix_now()));
  EXPECT_NE(folder.read("controller.key"), key);
  EXPECT_TRUE(
      folder.shell("openssl pkey -in controller.key -pubout > a && openssl x509 -in "
                   "controller.crt -noout -pubkey > b && cmp a b"));
  EXPECT_EQ(renew(folder.path(), {.names = {"n9"}}, unix_now()).error().code, Code::kNotFound);
}

TEST(Authority, RevokesEveryCertificateOfANameOrOneBySerial) {
  const AuthorityFolder folder;
  folder.issue("agent", "n1");
  folder.issue("agent", "n2");
  const std::string first = folder.certificate("n1").id.serial;
  ASSERT_TRUE(folder.shell("cp n1.crt first.pem"));
  ASSERT_TRUE(renew(folder.path(), {.names = {"n1"}}, unix_now()));
  const auto revoked = revoke(folder.path(), "n1", kCrlDays, unix_now());
  ASSERT_TRUE(revoked);
  EXPECT_EQ(revoked->serials.size(), 2U);
  for (const char* file : {"first.pem", "n1.crt"})
    EXPECT_TRUE(
        folder.shell(fmt::format("! openssl verify -crl_check -CRLfile crl.pem -CAfile "
                                 "ca.crt {0} && openssl verify -CAfile ca.crt {0}",
                                 file)))
        << folder.read("log");
  EXPECT_TRUE(folder.shell("openssl verify -crl_check -CRLfile crl.pem -CAfile ca.crt n2.crt"));
  std::string serial = folder.certificate("n2").id.serial;
  std::ranges::transform(serial, serial.begin(), ::tolower);
  ASSERT_TRUE(revoke(folder.path(), serial, kCrlDays, unix_now()));
  EXPECT_EQ(state_of(folder, "n2"), "revoked");
  EXPECT_TRUE(revoke(folder.path(), "n2", kCrlDays, unix_now())->serials.empty());
  EXPECT_EQ(revoke(folder.path(), "n3", kCrlDays, unix_now()).error().code, Code::kNotFound);
}

// A renewal has the same key, so that its certificates end together; one with a new key stays.
TEST(Authority, ASerialNumberRevokesTheRenewalsOfItsKey) {
  const AuthorityFolder folder;
  folder.issue("operator", "ann");
  const std::string first = folder.certificate("ann").id.serial;
  ASSERT_TRUE(renew(folder.path(), {.names = {"ann"}}, unix_now()));
  const std::string second = folder.certificate("ann").id.serial;
  ASSERT_TRUE(renew(folder.path(), {.names = {"ann"}, .new_key = true}, unix_now()));
  const auto revoked = revoke(folder.path(), first, kCrlDays, unix_now());
  ASSERT_TRUE(revoked) << revoked.error().message;
  EXPECT_THAT(revoked->serials, testing::UnorderedElementsAre(first, second));
  EXPECT_EQ(state_of(folder, "ann"), "revoked revoked valid");
}

TEST(Authority, TakesOverAFolderWithoutAnIndex) {
  const AuthorityFolder folder;
  folder.issue("agent", "n1");
  std::filesystem::remove(folder.path("index.txt"));
  EXPECT_EQ(state_of(folder, "n1"), "valid");
  ASSERT_TRUE(revoke(folder.path(), "n1", kCrlDays, unix_now()));
  EXPECT_EQ(state_of(folder, "n1"), "revoked");
  std::ofstream(folder.path("index.txt"), std::ios::app) << "half a li";
  EXPECT_EQ(issue(folder.path(), {.role = "agent", .names = {"n2"}}, unix_now()).error().code,
            Code::kDataLoss);
  EXPECT_EQ(show(folder.path(), unix_now()).error().code, Code::kDataLoss);
}

TEST(Authority, RefusesAKeyOfAnotherAuthorityOrThatOthersCanRead) {
  const AuthorityFolder folder;
  std::filesystem::permissions(folder.path("ca.key"), std::filesystem::perms(0644));
  const auto open = issue(folder.path(), {.role = "agent", .names = {"n1"}}, unix_now());
  ASSERT_FALSE(open);
  EXPECT_THAT(open.error().message, HasSubstr("chmod 600"));
  const AuthorityFolder other;
  std::filesystem::copy_file(other.path("ca.key"), folder.path("ca.key"),
                             std::filesystem::copy_options::overwrite_existing);
  std::filesystem::permissions(folder.path("ca.key"), std::filesystem::perms(0600));
  EXPECT_EQ(issue(folder.path(), {.role = "agent", .names = {"n1"}}, unix_now()).error().code,
            Code::kFailedPrecondition);
}

TEST(Authority, FollowsNoLinkThatSomebodyPlanted) {
  const AuthorityFolder folder;
  std::ofstream(folder.path("victim")) << "as it was";
  std::filesystem::create_symlink(folder.path("victim"), folder.path(".n1.key.next"));
  std::filesystem::create_symlink(folder.path("victim"), folder.path(".index.txt.draft"));
  folder.issue("agent", "n1");
  EXPECT_EQ(folder.read("victim"), "as it was");
  std::filesystem::create_symlink(folder.path("victim"), folder.path("n2.key"));
  EXPECT_EQ(issue(folder.path(), {.role = "agent", .names = {"n2"}}, unix_now()).error().code,
            Code::kAlreadyExists);
  EXPECT_EQ(folder.read("victim"), "as it was");
}

TEST(Authority, WritersTakeTurns) {
  const AuthorityFolder folder;
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 4; ++writer)
    writers.emplace_back([&folder, writer] {
      for (int i = 0; i < 4; ++i) folder.issue("agent", fmt::format("n{}-{}", writer, i));
    });
  for (std::thread& writer : writers) writer.join();
  const auto all = show(folder.path(), unix_now());
  ASSERT_TRUE(all);
  EXPECT_EQ(all->size(), 2U + 16U);
  EXPECT_TRUE(std::ranges::all_of(*all, [](const auto& one) { return one.state == "valid"; }));
}

TEST(Authority, ShowsWhatEndsSoonAndWhatHasEnded) {
  const AuthorityFolder folder;
  folder.issue("agent", "n1");
  EXPECT_EQ(state_of(folder, "n1", unix_now() + (kCertificateDays - 10) * 86'400), "ending");
  EXPECT_EQ(state_of(folder, "n1", unix_now() + (kCertificateDays + 1) * 86'400), "expired");
  EXPECT_EQ(state_of(folder, "crl.pem", unix_now() + (kCrlDays + 1) * 86'400), "expired");
  std::filesystem::remove(folder.path("crl.pem"));
  EXPECT_EQ(state_of(folder, "crl.pem"), "missing");
  ASSERT_TRUE(write_crl(folder.path(), 7, unix_now()));
  EXPECT_EQ(state_of(folder, "crl.pem"), "ending");
}

// A node's key and its certificates, as the enrolment port makes them.
class EnrolledKey {
 public:
  EnrolledKey(const AuthorityFolder& folder, std::string name)
      : folder_(folder), name_(std::move(name)) {}
  Result<Enrolled> enrol(bool replaces = false, std::optional<double> repeats_since = {}) {
    auto made = trust::enrol(folder_.path(),
                             {.name = name_,
                              .public_key = request_.public_key,
                              .days = 30,
                              .replaces = replaces,
                              .repeats_since = repeats_since},
                             unix_now());
    if (made) newest_ = *made;
    return made;
  }
  Result<Enrolled> renew() {
    auto made = renew_enrolled(folder_.path(), newest_.certificate, 30, unix_now());
    if (made) newest_ = *made;
    return made;
  }
  [[nodiscard]] const Enrolled& newest() const { return newest_; }

 private:
  const AuthorityFolder& folder_;
  std::string name_;
  SigningRequest request_ = read_request(make_request(name_, make_key().value()).value()).value();
  Enrolled newest_{};
};

TEST(EnrolledAuthority, ARevokedSerialTakesItsRenewalsAndWhatTheyRenewedWithIt) {
  const AuthorityFolder folder;
  EnrolledKey node(folder, "n1");
  EnrolledKey other(folder, "n2");
  const std::string first = node.enrol().value().serial;
  const std::string second = node.renew().value().serial;
  const std::string third = node.renew().value().serial;
  const std::string others = other.enrol().value().serial;
  EXPECT_THAT(serials_of_key(folder.path(), second).value(),
              testing::UnorderedElementsAre(first, second, third));
  const auto revoked = revoke(folder.path(), second, kCrlDays, unix_now());
  ASSERT_TRUE(revoked) << revoked.error().message;
  EXPECT_THAT(revoked->serials, testing::UnorderedElementsAre(first, second, third));
  EXPECT_EQ(state_of(folder, "n1"), "revoked revoked revoked");
  EXPECT_EQ(state_of(folder, "n2"), "valid");
  EXPECT_THAT(node.renew().error().message, HasSubstr("it is revoked"));
  EXPECT_THAT(node.enrol().error().message, HasSubstr("a certificate of its key was revoked"));
  ASSERT_TRUE(folder.shell("openssl crl -in crl.pem -noout -text >text"));
  for (const std::string& serial : {first, second, third})
    EXPECT_THAT(folder.read("text"), HasSubstr(serial));
  EXPECT_THAT(folder.read("text"), testing::Not(HasSubstr(others)));
}

TEST(EnrolledAuthority, ADamagedLineOfTheKeysIsNamedAndKeepsNobodyFromRevoking) {
  const AuthorityFolder folder;
  EnrolledKey node(folder, "n1");
  const std::string first = node.enrol().value().serial;
  const std::string second = node.renew().value().serial;
  std::ofstream(folder.path("keys.txt"), std::ios::app) << "half a li\n";
  const auto revoked = revoke(folder.path(), first, kCrlDays, unix_now());
  ASSERT_TRUE(revoked) << revoked.error().message;
  EXPECT_THAT(revoked->serials, testing::UnorderedElementsAre(first, second));
  ASSERT_EQ(revoked->damaged.size(), 1U);
  EXPECT_THAT(revoked->damaged[0], HasSubstr(folder.path("keys.txt") + ": line 3"));
  // Who gets a certificate depends on all lines.
  const auto enrolled = EnrolledKey(folder, "n2").enrol();
  ASSERT_FALSE(enrolled);
  EXPECT_THAT(enrolled.error().message, HasSubstr(folder.path("keys.txt") + ": line 3"));
  EXPECT_THAT(folder.read("keys.txt"), HasSubstr("half a li")) << "nothing was lost";
}

TEST(EnrolledAuthority, KeysOfCertificatesThatEndedLongAgoAreForgotten) {
  const AuthorityFolder folder;
  const double now = unix_now();
  constexpr double kDay = 24 * 3600;
  const auto issue_at = [&](const std::string& name, double at) {
    const auto issued =
        trust::issue(folder.path(), {.role = "agent", .names = {name}, .hosts = {}, .days = 1}, at);
    ASSERT_TRUE(issued) << issued.error().message;
  };
  issue_at("n1", now);
  issue_at("n2", now + kKeptSeconds);
  EXPECT_THAT(folder.read("keys.txt"), HasSubstr(folder.certificate("n1").id.serial));
  issue_at("n3", now + kKeptSeconds + 2 * kDay);
  EXPECT_THAT(folder.read("keys.txt"), testing::Not(HasSubstr(folder.certificate("n1").id.serial)));
  for (const char* name : {"n2", "n3"})
    EXPECT_THAT(folder.read("keys.txt"), HasSubstr(folder.certificate(name).id.serial)) << name;
  EXPECT_THAT(folder.read("index.txt"), HasSubstr(folder.certificate("n1").id.serial));
}

// `pki issue` made the first one, the controller the second.
TEST(EnrolledAuthority, ACertificateFromAFileIsOfTheSameLineAsItsRenewal) {
  const AuthorityFolder folder;
  folder.issue("agent", "n1");
  const auto renewed = renew_enrolled(folder.path(), folder.read("n1.crt"), 30, unix_now());
  ASSERT_TRUE(renewed) << renewed.error().message;
  const std::string first = folder.certificate("n1").id.serial;
  const auto revoked = revoke(folder.path(), first, kCrlDays, unix_now());
  ASSERT_TRUE(revoked);
  EXPECT_THAT(revoked->serials, testing::UnorderedElementsAre(first, renewed->serial));
}

// Another program wrote the index alone.
TEST(EnrolledAuthority, ARevocationByOpensslEndsRenewalsOfTheKeyToo) {
  const AuthorityFolder folder;
  EnrolledKey node(folder, "n1");
  const Enrolled first = node.enrol().value();
  ASSERT_TRUE(node.renew());
  const std::string renewed = folder.read("index.txt").substr(folder.read("index.txt").find('\n'));
  const std::string line = folder.read("index.txt").substr(0, folder.read("index.txt").find('\n'));
  ASSERT_THAT(line, testing::AllOf(testing::StartsWith("V\t"), HasSubstr(first.serial)));
  const std::size_t end = line.find('\t', 2);
  std::ofstream(folder.path("index.txt"))
      << "R" << line.substr(1, end) << "261101000000Z" << line.substr(end + 1) << renewed;
  EXPECT_THAT(node.renew().error().message, HasSubstr("another one of its key is revoked"));
}

TEST(EnrolledAuthority, AReplacementLeavesCertificatesOfItsOwnKey) {
  const AuthorityFolder folder;
  EnrolledKey before(folder, "n1");
  EnrolledKey after(folder, "n1");
  const std::string old = before.enrol().value().serial;
  const double began = unix_now() - 1;
  EXPECT_THAT(after.enrol(true)->revoked, ElementsAre(old));
  EXPECT_THAT(after.enrol(true, began + 60)->revoked, testing::IsEmpty()) << "its answer was lost";
  EXPECT_TRUE(after.renew()) << "the lost one does not bar it";
}

}  // namespace
}  // namespace railgauge::trust
