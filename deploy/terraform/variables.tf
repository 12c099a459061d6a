variable "gateway" {
  description = "URL of the gateway, such as https://share.example.com."
  type        = string
}

variable "token" {
  description = "Token of an administrator with the role admin. Set it with TF_VAR_token."
  type        = string
  sensitive   = true
}

variable "shares" {
  description = "Shares by name. Tables are named SCHEMA.TABLE."
  type = map(object({
    comment = optional(string)
    tables = optional(map(object({
      catalog = string
      table   = string
      history = optional(bool, false)
    })), {})
  }))
}

variable "recipients" {
  description = "Recipients by name, with the shares that they can read."
  type = map(object({
    comment    = optional(string)
    allow_from = optional(list(string), [])
    shares     = optional(set(string), [])
  }))
}
