gateway = "https://share.example.com"

shares = {
  sales = {
    comment = "Daily sales"
    tables = {
      "eu.orders" = { catalog = "main", table = "eu.orders", history = true }
      "eu.visits" = { catalog = "main", table = "eu.visits" }
    }
  }
}

recipients = {
  acme  = { comment = "Acme Inc.", shares = ["sales"], allow_from = ["203.0.113.0/24"] }
  trial = {}
}
