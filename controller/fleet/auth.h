// Callers and their rights. A caller comes through the unix socket, which checks its credentials at
// the connection, with a certificate that has its role and name by a URI (railgauge://ROLE/NAME) or
// by OU and CN, or through --insecure TCP.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "controller/trust/certificate.h"
#include "kernels/core/base/result.h"

namespace grpc {
class ServerContextBase;
}

namespace railgauge::auth {

enum class Role { kNone, kAgent, kOperator, kViewer, kController, kAny };
// "agent", the word of a certificate's OU; "no known role", "any role".
std::string_view name_of(Role role);
// kNone for a text that is no role's name.
Role role_named(std::string_view text);

struct Peer {
  Role role = Role::kNone;    // kAny: unix socket and --insecure
  std::string who{};          // user name, the certificate's name or address, for people
  std::string common_name{};  // of the certificate, by URI or CN; "" without one
  std::string address{};
  std::string refusal{};               // why a certificate gives no role; "": its OU is at fault
  std::uint64_t connection = 0;        // its TCP connection's number; 0: another way
  trust::CertificateId certificate{};  // empty without one
  double certificate_until_unix = 0;   // likewise 0
};

// --- unix sockets ------------------------------------------------------------------------------
struct Credentials {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups{};  // supplementary ones of the user
};
// Reports whether the peer is root, the controller's own user, or a member of `group`. Pure.
bool may_connect(const Credentials& peer, uid_t own_uid, std::optional<gid_t> group);
// Reads SO_PEERCRED of a connected unix socket, and the user's groups from the system's database.
Result<Credentials> credentials_of(int fd);
std::string user_name(uid_t uid);

// gRPC's name of a connection inside the process. No other has it: those from outside are known by
// their descriptor or by the name that the relay gives them.
inline constexpr const char* kInProcess = "unknown";

// Whether a certificate is revoked; called on any thread.
using IsRevoked = std::function<bool(const trust::CertificateId&)>;

// The peers of all connections, by gRPC's names of these, and the calls under way. gRPC knows a
// descriptor that was passed to it as "fd:N" only, and the others by the name that the relay gave
// them. Thread safe.
class PeerBook {
 public:
  // Seconds for which a connection that has ended is known: calls that it made may begin late.
  static constexpr double kLateSeconds = 30;
  // Seconds from the revocation of a certificate until its connections are ended, in which their
  // calls get the reason.
  static constexpr double kReasonSeconds = 2;

  // The user of a descriptor.
  void set(int fd, std::string user);
  // Enters a connection under a name that is never used again, before gRPC has it.
  void enter(const std::string& name, Peer peer);
  // The name by which the call's peer is known: of its connection, or of the person for whom a call
  // inside the process is made (controller/api/on_behalf.h).
  static std::string name_of(const grpc::ServerContextBase& context);
  // The connection has ended. `now`: seconds of one clock that never falls.
  void leave(const std::string& name, double now);
  // Numbers of connections whose certificate is revoked for kReasonSeconds or longer, or has ended.
  std::vector<std::uint64_t> invalid_connections(double now, double now_unix);
  // Calls `note` with the peer of every call over TCP. Set it before the server starts; it is
  // called from the server's threads.
  void on_call(std::function<void(const Peer&)> note) { on_call_ = std::move(note); }
  // Peers with a revoked certificate have no role from now on. Set it before the first call.
  void check_revoked(IsRevoked is_revoked) { is_revoked_ = std::move(is_revoked); }
  [[nodiscard]] Peer peer_of(const grpc::ServerContextBase& context) const;

  // A call that is under way, so that it can be cancelled. End it before gRPC's last event of the
  // call, which ends the context.
  class Call {
   public:
    Call() = default;
    Call(const PeerBook* book, const grpc::ServerContextBase* context)
        : book_(book), context_(context) {}
    Call(Call&& other) noexcept
        : book_(std::exchange(other.book_, nullptr)), context_(other.context_) {}
    Call& operator=(Call&& other) noexcept {
      end();
      book_ = std::exchange(other.book_, nullptr);
      context_ = other.context_;
      return *this;
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call() { end(); }
    void end();

   private:
    const PeerBook* book_ = nullptr;
    const grpc::ServerContextBase* context_ = nullptr;
  };
  // Enters a call of a peer with a certificate; other peers are not kept.
  [[nodiscard]] Call begin(const grpc::ServerContextBase& context, const Peer& peer) const;
  // Cancels the calls of revoked certificates, and returns how many.
  std::size_t cancel_revoked() const;

 private:
  [[nodiscard]] Peer caller_of(const grpc::ServerContextBase& context) const;

  std::function<void(const Peer&)> on_call_;
  mutable std::mutex mutex_;
  std::map<int, std::string> users_;  // by descriptor: as many as the process may have open
  std::unordered_map<std::string, Peer> entered_;         // by gRPC's name
  std::map<trust::CertificateId, double> revoked_since_;  // when it was first seen so
  std::deque<std::pair<double, std::string>> left_;       // entered still; oldest first
  IsRevoked is_revoked_;
  mutable std::recursive_mutex calls_mutex_;  // a cancel may end calls on its own thread
  mutable std::map<const grpc::ServerContextBase*, trust::CertificateId> calls_;
};

// --- certificates ------------------------------------------------------------------------------
struct Subject {
  std::vector<std::string> common_names{};
  std::vector<std::string> units{};  // OU
};
// Parses "CN=n1,OU=agent,O=Railgauge" (RFC 2253, with its escapes). Pure.
Subject parse_subject(std::string_view rfc2253);
// Returns agent, operator or viewer; kNone when the subject has another OU, none or several. Pure.
Role role_of(const Subject& subject);

// The node that an agent's certificate speaks for: what a node's id is bound to, through renewals.
// "" for a peer without a certificate, or with another role.
std::string identity_of(const Peer& peer);
// The peer of a TCP connection without a certificate (--insecure): anybody.
Peer anybody(std::string address, std::uint64_t connection);
// The peer of a TCP connection with a certificate. Pure.
Peer holder_of(const trust::Certificate& certificate, std::string address,
               std::uint64_t connection);
// Sets role, name and refusal of a peer from its certificate. A URI of the scheme railgauge counts
// before OU and CN. No role: several such URIs, one of another form, or an OU of another role
// beside it. Pure.
void identify(const Subject& subject, const trust::Certificate& certificate, Peer& peer);

// --- rights: kPermissionDenied naming who, what they are and what is needed. Pure --------------
Status may_control(const Peer& peer, bool read_only);
Status may_attach(const Peer& peer);
// Makes identities of others, which no certificate may: it could be one of these itself.
// Users of the unix socket, and anybody where the port is --insecure.
Status may_administer(const Peer& peer);
// Other controllers of the site.
Status may_stand_by(const Peer& peer);
Status may_speak_for(const Peer& peer, const std::string& node_name);

}  // namespace railgauge::auth
