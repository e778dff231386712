"""Questions as users ask them: the language of events, what is asked, and answers."""
