#include "controller/store/ingest/run_accounts.h"

namespace railgauge::store {

RunAccounts::Account& RunAccounts::account_of(std::int64_t run, std::int64_t node) {
  if (accounts_.size() > kMostAccounts) accounts_.erase(accounts_.begin());
  return accounts_[{run, node}];
}

void RunAccounts::add_rank(std::int64_t run, std::int64_t node) { ++account_of(run, node).ranks; }

RunAccounts::Answer RunAccounts::take(std::int64_t run, std::int64_t node, std::int64_t bytes) {
  Account& account = account_of(run, node);
  if (account.bytes + bytes > bounds_.bytes + account.ranks * bounds_.rank_bytes) {
    if (account.is_told) return Answer::kRefused;
    account.is_told = true;
    return Answer::kRefusedFirst;
  }
  account.bytes += bytes;
  return Answer::kTaken;
}

}  // namespace railgauge::store
