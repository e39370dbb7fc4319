// The attacks, one function a verb of railgauge-attacker. Each reads its arguments, prints figures
// as lines and returns the exit code: 0 when the attack was carried out, whatever came of it.
#pragma once

#include <memory>
#include <string>

#include "controller/testing/attacker/arguments.h"

namespace grpc {
class ChannelCredentials;
}

namespace railgauge::attacker {

// --- TCP ---------------------------------------------------------------------------------------
// Opens --count connections to --to and holds them until stdin ends, at most --hold seconds. --send
// is nothing, half or hello: the share of a TLS ClientHello that each one sends.
int hold_connections(const Arguments& arguments);
// Opens connections at --rate a second for --seconds. Holds the newest --keep of them open.
int open_at_rate(const Arguments& arguments);
// Prints --count=N free ports of loopback, 1 unless given, in one line.
int free_ports(const Arguments& arguments);

// Forwards --listen to --to. Lines of stdin change it: cut (closes all and refuses more), half
// (forwards nothing and closes nothing), delay MILLISECONDS, arm PHASE cut|half (acts when a
// message of that phase is about to pass), heal. Prints a line for each.
int run_proxy(const Arguments& arguments);

// --- gRPC, by the contract of agents. --cert, --key and --ca are PEM files; without them the
// connection is plain.
std::shared_ptr<grpc::ChannelCredentials> credentials(const Arguments& arguments);
// Opens --count streams by one certificate, over --channels connections, with --hello a Hello each.
// Holds them until stdin ends.
int open_streams(const Arguments& arguments);
// Sends --count Hellos of --bytes, one after the other, with ESC in their texts.
int send_hellos(const Arguments& arguments);
// An agent that does what lines of stdin say; see puppet.cc.
int run_puppet(const Arguments& arguments);

// --- files -------------------------------------------------------------------------------------
// Compares acknowledged records of each --spool with --database.
int compare_spools(const Arguments& arguments);

// Waits until stdin ends, at most so long.
void wait_for_end_of_input(double seconds);

}  // namespace railgauge::attacker
